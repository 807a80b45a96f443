"""The strategy SDK: what a strategy may import."""
