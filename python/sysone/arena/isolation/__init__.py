"""What keeps a strategy from the host, the network, the other side and the match itself."""

from sysone.arena.isolation.backends import UnavailableError, choose
from sysone.arena.isolation.base import Isolation, Sandbox

__all__ = ["Isolation", "Sandbox", "UnavailableError", "choose"]
