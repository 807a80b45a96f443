"""What every long command shares: files that survive a kill, run folders, progress on stderr."""

from sysone.runs.errors import RunError

__all__ = ["RunError"]
