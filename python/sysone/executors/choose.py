"""``--engine``: where work is done, by name."""

from collections.abc import Callable, Mapping
from typing import Final, Literal, get_args

from sysone.executors.base import EngineError, Executor, Work
from sysone.executors.installation import installation
from sysone.executors.local import LocalExecutor

Engine = Literal["local", "ray"]
ENGINES: Final = get_args(Engine)


def executor_of(
    engine: str,
    work: Work,
    slots: int,
    *,
    address: str | None = None,
    pin: bool = False,
    facts: Callable[[], Mapping[str, str]] = installation,
    files: Mapping[str, bytes] | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Executor:
    """The executor of an engine; ``pin`` is for local, the rest for a cluster.

    Raises:
        EngineError: there is no such engine, or it cannot be used.
    """
    if engine == "local":
        return LocalExecutor(work, slots, pin=pin)
    if engine != "ray":
        raise EngineError(f"--engine must be {' or '.join(ENGINES)}, not {engine!r}")
    from sysone.executors.ray_cluster import RayExecutor

    return RayExecutor(work, slots, address=address, facts=facts, files=files, note=note)
