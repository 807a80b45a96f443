"""A strategy's life before it plays: begun, put together, packed, handed on, fetched."""
