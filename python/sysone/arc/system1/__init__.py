"""System-1: scores every candidate action at every step from the picture, in one forward pass."""
