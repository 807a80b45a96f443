"""The process that runs one strategy.

Messages come on descriptor 3 and go out on 4. The strategy's standard output goes to its log, so
that only this module speaks on the channel.
"""

import contextlib
import ctypes
import importlib.util
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import msgspec

from sysone.arena.frames import Channel, ClosedError

TRACEBACK_TAIL = 2048
_DIE_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG

Act = Callable[[dict[str, Any], dict[str, Any]], Any]


def load(folder: str, entry: str) -> tuple[Any, Any]:
    """The entry of a strategy, and its module.

    ``entry`` is ``module:attribute``; the module is a file of ``folder``, which is put on the path.
    """
    name, _, attribute = entry.partition(":")
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name, Path(folder) / f"{name}.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"no module {name} in {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    found = getattr(module, attribute)
    return (found() if isinstance(found, type) else found), module


def hook(target: Any, module: Any, name: str) -> Callable[..., Any] | None:
    """An optional function of a strategy: of the entry's instance, else of its module."""
    found = getattr(target, name, None) or getattr(module, name, None)
    return found if callable(found) else None


def begin_match(target: Any, module: Any, names: tuple[str, ...], info: dict[str, Any]) -> None:
    """Call those of a strategy's hooks that it has."""
    for name in names:
        function = hook(target, module, name)
        if function is not None:
            function(info)


def plain(value: Any) -> Any:
    """Numbers of array libraries as plain ones."""
    item = getattr(value, "item", None)
    if item is None:
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return item()


def encode(action: Any) -> bytes:
    """An action as JSON; numbers that are not finite stay visible to the check."""
    return json.dumps(action, separators=(",", ":"), default=plain).encode()


def serve(channel: Channel) -> None:
    """Load the strategy and answer until the match is over."""
    kind, body = channel.receive()
    setup = json.loads(body)
    info = setup["info"]
    try:
        target, module = load(setup["folder"], setup["entry"])
        act: Act = target.act if hasattr(target, "act") else target
        begin_match(target, module, ("setup", "reset"), info)
    except BaseException:
        channel.send(b"E", traceback.format_exc()[-TRACEBACK_TAIL:].encode(errors="replace"))
        return
    channel.send(b"R")
    state: dict[str, Any] = {}
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    while True:
        kind, body = channel.receive()
        if kind == b"Q":
            function = hook(target, module, "teardown")
            if function is not None:
                function()
            return
        if kind == b"N":  # another match: only environments play several
            try:
                begin_match(target, module, ("reset",), json.loads(body))
            except BaseException:
                told = traceback.format_exc()[-TRACEBACK_TAIL:]
                channel.send(b"E", told.encode(errors="replace"))
                return
            state = {}
            channel.send(b"R")
            continue
        begin = perf_counter_ns()
        try:
            observation = decode(body)
            decoded = perf_counter_ns()
            action = act(observation, state)
            acted = perf_counter_ns()
        except Exception:
            channel.send(b"E", traceback.format_exc()[-TRACEBACK_TAIL:].encode(errors="replace"))
            continue
        try:
            text = encode(action)
        except (TypeError, ValueError, RecursionError) as error:
            channel.send(b"B", str(error)[-TRACEBACK_TAIL:].encode(errors="replace"))
            continue
        spent = perf_counter_ns() - begin
        times = (acted - decoded).to_bytes(8, "little") + spent.to_bytes(8, "little")
        channel.send(b"A", times + text)


def main() -> None:
    """Run as a process of a match."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    # an interrupt at the terminal is the match's to handle
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = Channel(3, 4)
    os.dup2(2, 1)
    with contextlib.suppress(ClosedError):
        serve(channel)


if __name__ == "__main__":
    main()
