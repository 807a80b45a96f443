"""``--isolation``: what is asked for, if it works here; ``auto`` never falls back to none."""

from sysone.arena.isolation import bubblewrap, docker
from sysone.arena.isolation.base import Isolation, TrustedLocal


class UnavailableError(Exception):
    """What was asked for does not work here; the text says why and what to do."""


def choose(wanted: str, image: str | None = None) -> Isolation:
    """The isolation for ``auto``, ``bubblewrap``, ``docker`` or ``none``.

    ``image`` is docker's, by default the one of this version.

    Raises:
        UnavailableError: it does not work here.
    """
    if wanted == "none":
        return TrustedLocal()
    reasons = []
    if wanted in ("auto", "bubblewrap"):
        reason = bubblewrap.unavailable()
        if reason is None:
            return bubblewrap.Bubblewrap()
        reasons.append(reason)
    if wanted in ("auto", "docker"):
        found = docker.Docker(image)
        reason = docker.unavailable(found.image)
        if reason is None:
            return found
        reasons.append(reason)
    raise UnavailableError(
        f"no isolation: {'; '.join(reasons)}. --trusted-local runs strategies as plain processes"
    )
