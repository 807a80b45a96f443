"""Fuzzing: targets, their seeds, and what runs them (docs/hardening.md)."""
