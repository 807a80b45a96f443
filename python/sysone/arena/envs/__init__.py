"""Training environments: one match that is reset and stepped, many of them, and their protocol."""
