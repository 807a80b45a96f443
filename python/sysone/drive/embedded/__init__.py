"""A small deterministic world inside the executor: no server, no GPU, no download."""

from sysone.drive.embedded.world import EmbeddedBackend

__all__ = ["EmbeddedBackend"]
