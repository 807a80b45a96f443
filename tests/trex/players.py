"""Players for tests that need no process."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Nobody:
    """A name for reports; whoever drives the pilot answers."""

    inflight: int = 1
    name: str = "Nobody"
    model: str = "m"
    detail: str = "http://x · m"
    usd_per_token: float = 0.0
