"""The compiled core of sysone: deterministic simulators and search without a model in them."""
