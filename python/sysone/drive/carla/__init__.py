"""The CARLA backend: a client in a child process, behind the interface of every backend."""

from sysone.drive.carla.backend import CarlaBackend, ServerAddress

__all__ = ["CarlaBackend", "ServerAddress"]
