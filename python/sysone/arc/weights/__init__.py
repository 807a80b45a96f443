"""Weights of System-1: where they come from, in parts where they are large, checked by SHA-256."""
