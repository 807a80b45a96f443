"""The compiled frames, where they are: a model's own environment may do without the core."""

from typing import Any

frames: Any
try:
    from sysone_core import frames
except ImportError:
    frames = None
