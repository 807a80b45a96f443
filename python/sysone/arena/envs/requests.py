"""Requests of the protocol ``arena-env-v1``: checked as a whole, carried out environment by
environment, answered in the order of ``env_ids``.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from sysone.arena.engine import TEAMS, Team
from sysone.arena.envs.options import EnvPlan
from sysone.arena.envs.vector import Order, Pool, Read, text, values
from sysone.arena.envs.world import seed_of
from sysone.arena.errors import ArenaError
from sysone.arena.rules.book import Book
from sysone.arena.sdk.host import encode, plain

PROTOCOL: Final = "arena-env-v1"
FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "reset": frozenset({"seeds", "env_ids", "scenarios"}),
    "step": frozenset({"actions", "env_ids"}),
    "observe": frozenset({"env_ids"}),
    "save_replay": frozenset({"env_ids", "paths"}),
    "info": frozenset(),
    "close": frozenset(),
}
MOST_SEED_JSON = 2**64 - 1


class RequestError(ArenaError):
    """A request that is wrong as a whole: no environment was asked."""


class Requests:
    """Carries out requests over the environments of a pool."""

    def __init__(self, plan: EnvPlan, pool: Pool) -> None:
        self.plan = plan
        self.pool = pool
        self.closed = False
        self._seeds = [env_id - len(pool.workers) for env_id in range(len(pool.workers))]

    def ready(self) -> dict[str, Any]:
        """The protocol's first line."""
        options = self.plan.options
        given = options.lineups
        return {
            "type": "ready",
            "protocol": PROTOCOL,
            "num_envs": len(self._seeds),
            "season": self.plan.season,
            "action_repeat": options.action_repeat,
            "compact": options.compact,
            "fingerprints": Book.of(self.plan.season, options.settings).fingerprints,
            "lineups": self.plan.told_lineups() if given is None else given,
            "pid": os.getpid(),
        }

    def line(self, line: bytes) -> bytes:
        """The response to a line of JSON."""
        try:
            request = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return refused(None, RequestError("bad_json", f"the line is no JSON: {error}"))
        if not isinstance(request, dict):
            return refused(None, RequestError("bad_type", "a request is an object"))
        if "actions" in request and isinstance(request["actions"], list):
            # kept as they are written: the core reads them itself
            request["actions"] = msgspec.json.decode(line, type=_Actions).actions
        return msgspec.json.encode(self._handle(request, text))

    def handle(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The response to a request."""
        return self._handle(request, values)

    def _handle(self, request: Mapping[str, Any], read: Read) -> dict[str, Any]:
        number = request.get("id")
        try:
            if isinstance(number, dict | list):
                number = None
                raise RequestError("bad_type", "id must be a scalar")
            operation = request.get("op")
            if not isinstance(operation, str) or operation not in FIELDS:
                raise RequestError(
                    "unknown_op", f"op must be one of {', '.join(FIELDS)}, not {operation!r}"
                )
            for name in request:
                if name not in FIELDS[operation] and name not in ("id", "op"):
                    raise RequestError("unknown_field", f"{operation} has no field {name!r}")
            return self._carry_out(number, operation, request, read)
        except RequestError as error:
            return refusal(number, error)

    def _carry_out(
        self, number: Any, operation: str, request: Mapping[str, Any], read: Read
    ) -> dict[str, Any]:
        whole: dict[str, Any] = {"id": number, "ok": True, "type": operation, "results": []}
        if operation == "info":
            return whole | {"info": self.ready()}
        if operation == "close":
            self.closed = True
            self.pool.close()
            return whole | {"closed": True}
        env_ids = self._env_ids(request.get("env_ids"))
        orders, errors = self._orders(operation, env_ids, request)
        replies = self.pool.ask(orders, read)
        for env_id, error in errors.items():
            replies[env_id] = False, {"code": error.code, "message": str(error), "path": ""}
        for env_id in env_ids:
            ok, said = replies[env_id]
            whole["ok"] &= ok
            whole["results"].append(
                {"env_id": env_id, "ok": ok, ("result" if ok else "error"): said}
            )
        return whole

    def _env_ids(self, given: Any) -> list[int]:
        count = len(self._seeds)
        if given is None:
            return list(range(count))
        if not _is_list(given):
            raise RequestError("bad_type", f"env_ids must be a list, not {given!r}")
        seen: list[int] = []
        for env_id in given:
            if isinstance(env_id, bool) or not isinstance(env_id, int):
                raise RequestError("bad_type", f"env_ids must be whole numbers, not {env_id!r}")
            if not 0 <= env_id < count:
                raise RequestError(
                    "env_id_out_of_range", f"env_ids must be from 0 to {count - 1}, not {env_id}"
                )
            if env_id in seen:
                raise RequestError("duplicate_env_id", f"env_ids has {env_id} twice")
            seen.append(env_id)
        return seen

    def _orders(
        self, operation: str, env_ids: Sequence[int], request: Mapping[str, Any]
    ) -> tuple[dict[int, Order], dict[int, ArenaError]]:
        """What each environment is told, and the errors of those that are told nothing."""
        if operation == "observe":
            return dict.fromkeys(env_ids, (b"O", b"")), {}
        if operation == "reset":
            seeds = _items(request, "seeds", env_ids, None)
            scenarios = _items(request, "scenarios", env_ids, None)
            return _made(
                env_ids,
                lambda k: self._reset(env_ids[k], seeds[k], scenarios[k]),
            )
        if operation == "step":
            actions = _items(request, "actions", env_ids)
            return _made(env_ids, lambda k: (b"A", msgspec.msgpack.encode(texts_of(actions[k]))))
        paths = _items(request, "paths", env_ids)
        for path in paths:
            if not isinstance(path, str | os.PathLike) or not str(path):
                raise RequestError("bad_type", f"paths must be texts, not {path!r}")
        return {
            env_id: (b"V", os.fsencode(Path(path).absolute()))
            for env_id, path in zip(env_ids, paths, strict=True)
        }, {}

    def _reset(self, env_id: int, seed: Any, scenario: Any) -> Order:
        if seed is None:
            seed = (self._seeds[env_id] + len(self._seeds)) % (MOST_SEED_JSON + 1)
        if scenario is not None and not isinstance(scenario, Mapping):
            raise ArenaError("bad_type", "scenario must be an object or null")
        self._seeds[env_id] = seed_of(seed)
        return b"R", encoded({"seed": str(self._seeds[env_id]), "scenario": scenario})


class _Actions(msgspec.Struct):
    actions: list[msgspec.Raw]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _items(
    request: Mapping[str, Any], name: str, env_ids: Sequence[int], default: Any = ...
) -> Sequence[Any]:
    """One item for each environment of a request's list."""
    given: Any = request.get(name)
    if given is None and default is not ...:
        return [default] * len(env_ids)
    if not _is_list(given):
        raise RequestError("bad_type", f"{name} must be a list, not {str(given)[:100]}")
    items: Sequence[Any] = given
    if len(items) != len(env_ids):
        raise RequestError("bad_length", f"{name} must have {len(env_ids)} items, not {len(items)}")
    return items


def _made(
    env_ids: Sequence[int], make: Callable[[int], Order]
) -> tuple[dict[int, Order], dict[int, ArenaError]]:
    orders: dict[int, Order] = {}
    errors: dict[int, ArenaError] = {}
    for k, env_id in enumerate(env_ids):
        try:
            orders[env_id] = make(k)
        except ArenaError as error:
            errors[env_id] = error
    return orders, errors


def encoded(value: Any) -> bytes:
    """JSON of what a program gives.

    Raises:
        ArenaError: it has none.
    """
    try:
        return msgspec.json.encode(value, enc_hook=plain)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ArenaError("bad_type", f"no JSON: {error}") from error


def texts_of(actions: Any) -> dict[Team, bytes]:
    """Each side's action as a JSON text, with numbers that are not finite for the core to refuse.

    Raises:
        ArenaError: it is no mapping of sides.
    """
    if isinstance(actions, msgspec.Raw):
        try:
            actions = msgspec.json.decode(actions, type=dict[str, msgspec.Raw])
        except msgspec.DecodeError:
            actions = None
    if not isinstance(actions, Mapping):
        raise ArenaError("not_object", "actions: an object of red and blue is expected")
    sides: dict[Team, bytes] = {}
    for name, action in actions.items():
        if name not in TEAMS:
            raise ArenaError("unknown_field", f"actions: {name!r} is no side; there are red, blue")
        side: Team = "red" if name == "red" else "blue"
        try:
            sides[side] = bytes(action) if isinstance(action, msgspec.Raw) else encode(action)
        except (TypeError, ValueError, RecursionError) as error:
            raise ArenaError("bad_type", f"actions: {name}: {error}") from error
    return sides


def refusal(number: Any, error: ArenaError) -> dict[str, Any]:
    """The response to a request that is wrong as a whole."""
    return {
        "id": number,
        "ok": False,
        "type": "error",
        "error": {"code": error.code, "message": str(error)},
    }


def refused(number: Any, error: ArenaError) -> bytes:
    """The same as JSON."""
    return msgspec.json.encode(refusal(number, error))
