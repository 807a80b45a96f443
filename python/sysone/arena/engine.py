"""One match in this process: the core with its rules, digests and result."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal, NamedTuple

from sysone.arena import lineup as lineups
from sysone.arena.errors import ArenaError, ScenarioError
from sysone.arena.lineup import Lineup, Mode
from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import Season
from sysone_core import arena as core

Team = Literal["red", "blue"]
TEAMS: tuple[Team, Team] = ("red", "blue")
TICKS_PER_DECISION = 2
HOLD = b"{}"
MOST_SEED = 2**64 - 1


class Refusal(NamedTuple):
    """Why an action was refused as a whole."""

    code: str
    path: str


@dataclass(frozen=True)
class Setup:
    """Everything that fixes a match but the actions."""

    season: Season
    seed: int
    lineups: Mapping[Team, Lineup]
    mode: Mode = "standard"
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the season's defaults."""
    duration_s: float | None = None
    scenario: Mapping[str, Any] | None = None

    def ticks(self, book: Book) -> int:
        """Ticks of the match.

        Raises:
            ArenaError: the duration is no multiple of 0.1 s from 1 to 420.
        """
        seconds = book.duration_s if self.duration_s is None else self.duration_s
        tenths = round(seconds * 10)
        if abs(tenths - seconds * 10) > 1e-6 or not 10 <= tenths <= 4200:
            raise ArenaError(
                "usage", f"duration must be a multiple of 0.1 s from 1 to 420, not {seconds}"
            )
        return tenths * core.TICKS_PER_SECOND // 10


class Game:
    """A match that takes actions as JSON texts and runs decision by decision.

    Raises:
        ArenaError: settings, line-up, seed or duration are not allowed.
        ScenarioError: the scenario cannot be applied.
    """

    def __init__(self, setup: Setup) -> None:
        if not 0 <= setup.seed <= MOST_SEED:
            raise ArenaError("usage", f"seed must be from 0 to 2^64 - 1, not {setup.seed}")
        self.setup = setup
        self.book = Book.of(setup.season, setup.changes)
        for side in TEAMS:
            lineups.validate(setup.lineups[side], setup.season, setup.mode)
        self.ticks = setup.ticks(self.book)
        self.core = core.Simulator(
            self.book.compiled,
            sorted(setup.lineups["red"].items()),
            sorted(setup.lineups["blue"].items()),
            setup.seed,
            self.ticks,
            setup.mode == "deck",
        )
        self.reset(setup.seed, setup.scenario)

    def reset(self, seed: int, scenario: Mapping[str, Any] | None = None) -> None:
        """Start anew in the same place, with the same rules and line-ups."""
        problem = self.core.reset(seed, "" if scenario is None else json.dumps(scenario))
        if problem is not None:
            raise ScenarioError(*problem)
        self.setup = replace(self.setup, seed=seed, scenario=scenario)
        self._match_digest = hashlib.sha256()

    def act(self, side: Team, action: bytes | str, slot: int = 0) -> Refusal | None:
        """Give a side's (slot 0) or a robot's next action; a refused one makes it hold."""
        refused = self.core.act(TEAMS.index(side), action, slot)
        return None if refused is None else Refusal(*refused)

    def advance(self, ticks: int = TICKS_PER_DECISION) -> bytes:
        """Run; returns the tick digests, uint64 little-endian."""
        self.core.advance(ticks)
        digests = self.core.digests()
        self._match_digest.update(digests)
        return digests

    def observe(self, side: Team, slot: int = 0) -> bytes:
        """The observation's JSON text, without what never changes."""
        return self.core.observe(TEAMS.index(side), slot)

    @property
    def ended(self) -> bool:
        """Whether the match is over."""
        return self.core.ended

    @property
    def tick(self) -> int:
        """Ticks done."""
        return self.core.tick

    @property
    def digest(self) -> str:
        """SHA-256 over all tick digests so far."""
        return self._match_digest.hexdigest()

    def state(self) -> dict[str, Any]:
        """The full state."""
        loaded: dict[str, Any] = json.loads(self.core.state_json())
        return loaded

    def result(self) -> dict[str, Any]:
        """Winner, reason and the final numbers."""
        state = self.state()
        winner = self.core.winner
        return {
            "winner": None if winner < 0 else TEAMS[winner],
            "reason": self.core.reason if self.ended else None,
            "final": {
                "tick": state["tick"],
                "time": state["tick"] / core.TICKS_PER_SECOND,
                **{side: _final(state, i) for i, side in enumerate(TEAMS)},
            },
            "digest": self.digest,
            "ticks": state["tick"],
        }


def _final(state: dict[str, Any], team: int) -> dict[str, Any]:
    side = state["teams"][team]
    robots = [robot for robot in state["robots"] if robot["team"] == team]
    return {
        "base_hp": side["base_hp"],
        "shield": side["base_shield"],
        "outpost_hp": side["outpost_hp"],
        "attack_damage": side["attack_damage"],
        "coins": side["coins"],
        "kills": sum(robot["kills"] for robot in robots),
        "deaths": sum(robot["deaths"] for robot in robots),
        "robots": [
            {
                **{key: robot[key] for key in ("slot", "model", "hp", "level")},
                "alive": bool(robot["alive"]),
            }
            for robot in robots
        ],
    }


def static(book: Book) -> dict[str, Any]:
    """What never changes in a match: field, rules and models, in metres."""
    shapes = book.field

    def both(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {"id": f"{side}:{item['id']}", **_placed(item, side)}
            for item in items
            if book.season in item.get("seasons", [book.season])
            for side in (TEAMS if item["side"] == "red" else TEAMS[:1])
        ]

    points = shapes["points"]
    spawn = {**points["spawn"], **(points["spawn_2027"] if book.season == "2027" else {})}
    solids = {item["id"]: item for item in shapes["solids"]}
    x0, y0, x1, y1 = solids["base"]["rect"]
    base = [(x0 + x1) // 2, (y0 + y1) // 2]
    heights = memoryview(book.compiled.top()).cast("h")
    runs = b"".join(
        n.to_bytes(2, "little") + value.to_bytes(2, "little")
        for value, n in _runs(heights.tolist())
    )
    return {
        "format": "arena-static-v1",
        "sha256": book.fingerprints["field"],
        "size": [side / 1000 for side in shapes["size_mm"]],
        "spawn": {
            side: {slot: _turned(place, side) for slot, place in spawn.items()} for side in TEAMS
        },
        "bases": {side: _turned(base, side) for side in TEAMS},
        "outposts": {side: _turned(solids["outpost"]["circle"][:2], side) for side in TEAMS},
        "zones": both(shapes["zones"]),
        "walls": both(shapes["walls"]["items"]),
        "gates": both(shapes["gates"]),
        "cards": both(shapes["cards"]),
        "heights": {
            "cell_m": shapes["cell_mm"] / 1000,
            "encoding": "rle-u16",
            "data": b64encode(runs).decode(),
        },
        "rules": book.settings,
        "models": {str(model["model"]): model for model in book.models},
    }


def _runs(values: list[int]) -> list[tuple[int, int]]:
    found = []
    for value, group in groupby(values):
        n = len(list(group))
        found += [(value, min(65535, n - i)) for i in range(0, n, 65535)]
    return found


def _turned(point: list[int], side: Team) -> list[float]:
    x, y = point[:2]
    if side == "blue":
        x, y = 28000 - x, 15000 - y
    return [x / 1000, y / 1000, *(z / 1000 for z in point[2:])]


def _placed(item: dict[str, Any], side: Team) -> dict[str, Any]:
    rest = {
        k: v
        for k, v in item.items()
        if k not in ("id", "side", "rect", "poly", "seg", "circle", "seasons", "note")
    }
    if "seg" in item:
        ends = (item["seg"][:2], item["seg"][2:])
        return {"segment": [_turned(end, side) for end in ends], **rest}
    if "rect" in item:
        x0, y0, x1, y1 = item["rect"]
        corners = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]
    else:
        corners = item["poly"]
    return {"polygon": [_turned(corner, side) for corner in corners], **rest}
