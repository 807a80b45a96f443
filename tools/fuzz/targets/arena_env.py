"""The arena's environment protocol, JSON lines as any language may write them.

Input: lines; two environments that live in this process carry them out.

Properties: every line is answered by one line of JSON with the request's number; the answer is ok
or has an error with a code; a result for each environment that was asked; no line changes what is
recorded into something that cannot be read: the replay of an episode verifies.
"""

import json
from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

from sysone.arena.envs.actor import answer, error_of
from sysone.arena.envs.options import EnvOptions, resolve
from sysone.arena.envs.requests import Requests
from sysone.arena.envs.world import World
from sysone.arena.errors import ArenaError
from sysone.arena.replay import verify
from tools.fuzz.files import folder

INSTRUMENT = (
    "sysone.arena.envs.requests",
    "sysone.arena.envs.world",
    "sysone.arena.record",
    "sysone.arena.engine",
)
COUNT = 2


@cache
def plan() -> Any:
    """Two short recorded matches."""
    return resolve(EnvOptions(season="2027", duration=2.0, record=True))


class Here:
    """A pool whose environments live in this process."""

    def __init__(self) -> None:
        self.worlds = [World(plan(), env_id, None) for env_id in range(COUNT)]
        self.workers = [SimpleNamespace(env_id=env_id) for env_id in range(COUNT)]

    def ask(self, orders: Mapping[int, tuple[bytes, bytes]], read: Any) -> dict[int, Any]:
        """Carry out orders as `sysone.arena.envs.actor.serve` does."""
        replies = {}
        for env_id, (kind, body) in orders.items():
            if kind == b"V":
                body = str(folder() / f"env{env_id}.replay").encode()
            try:
                replies[env_id] = True, read(answer(self.worlds[env_id], kind, body))
            except ArenaError as error:
                replies[env_id] = False, error_of(error)
        return replies

    def close(self) -> None:
        """Close the episodes' spools."""
        for world in self.worlds:
            world.close()


def check(data: bytes) -> None:
    """Hold the properties to one input."""
    pool = Here()
    requests = Requests(plan(), pool)  # type: ignore[arg-type]  # the same methods
    requests.line(b'{"op":"reset","seeds":[1,2]}')
    for line in data.split(b"\n")[:12]:
        if requests.closed:
            break
        _answered(requests.line(line))
    if not requests.closed:
        path = folder() / "whole.replay"
        for world in pool.worlds:
            try:
                world.save_replay(path)
            except ArenaError:
                continue
            assert verify(path)["ok"]
    pool.close()


def _answered(reply: bytes) -> None:
    found = json.loads(reply)
    assert {"id", "ok", "type"} <= found.keys()
    if found["type"] == "error":
        assert not found["ok"]
        assert found["error"]["code"]
        return
    for row in found["results"]:
        assert row["ok"] or row["error"]["code"]
