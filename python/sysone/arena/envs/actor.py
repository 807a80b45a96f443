"""The process of one environment: requests come on descriptor 3, answers go out on 4."""

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

import msgspec

from sysone.arena.engine import Team
from sysone.arena.envs.opponent import isolation_for
from sysone.arena.envs.options import EnvOptions, resolve
from sysone.arena.envs.world import World, seed_of
from sysone.arena.errors import ActionError, ArenaError, ScenarioError
from sysone.arena.frames import Channel, ClosedError
from sysone.arena.isolation import UnavailableError
from sysone.runs.owner import end_with_owner


class Start(msgspec.Struct):
    """The first message."""

    env_id: int
    options: dict[str, Any]
    die_with_owner: bool
    """Whether the process ends with the thread that began it; else with its channel."""


def error_of(error: ArenaError) -> dict[str, Any]:
    """An error as answers have it."""
    message = {"code": error.code, "message": str(error), "path": ""}
    if isinstance(error, ActionError):
        message["path"] = f"{error.side}.{error.path}" if error.path else error.side
        message["side"] = error.side
    elif isinstance(error, ScenarioError):
        message["path"] = error.path
    return message


def answer(world: World, kind: bytes, body: bytes) -> bytes:
    """What an environment answers to a request."""
    if kind == b"R":
        given = msgspec.json.decode(body, type=dict[str, Any])
        return msgspec.json.encode(world.reset(seed_of(given["seed"]), given["scenario"]))
    if kind == b"A":
        return msgspec.json.encode(world.step(msgspec.msgpack.decode(body, type=dict[Team, bytes])))
    if kind == b"V":
        return msgspec.json.encode(world.save_replay(Path(os.fsdecode(body))))
    return msgspec.json.encode(world.observe())


def serve(channel: Channel) -> None:
    """Answer until the owner is gone."""
    _, body = channel.receive()
    start = msgspec.json.decode(body, type=Start)
    if start.die_with_owner:
        end_with_owner()
    try:
        plan = resolve(EnvOptions.of(start.options))
        world = World(plan, start.env_id, isolation_for(plan) if plan.opponent else None)
    except (ArenaError, UnavailableError) as error:
        code = error.code if isinstance(error, ArenaError) else "isolation"
        channel.send(b"E", msgspec.json.encode({"code": code, "message": str(error), "path": ""}))
        return
    channel.send(b"O", b"null")
    try:
        while True:
            kind, body = channel.receive()
            if kind == b"Q":
                return
            try:
                reply = answer(world, kind, body)
            except ArenaError as error:
                channel.send(b"E", msgspec.json.encode(error_of(error)))
                continue
            channel.send(b"O", reply)
    finally:
        world.close()


def main() -> None:
    """Run as a process of an environment."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the owner's to handle
    os.dup2(2, 1)
    with contextlib.suppress(ClosedError):
        serve(Channel(3, 4))


if __name__ == "__main__":
    main()
