"""Matches of the tests, made short."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from sysone.arena import lineup
from sysone.arena.engine import TEAMS, Game, Setup
from sysone.arena.lineup import Mode
from sysone.arena.rules.settings import Season


class Bench:
    """A game with the few words that scenarios are told in."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.events: list[dict[str, Any]] = []

    def run(
        self,
        seconds: float,
        red: Mapping[str, Any] | None = None,
        blue: Mapping[str, Any] | None = None,
    ) -> "Bench":
        """Play on; the actions are given again at every decision."""
        texts = [json.dumps(action or {}) for action in (red, blue)]
        for _ in range(round(seconds * 10)):
            for side, text in zip(TEAMS, texts, strict=True):
                refused = self.game.act(side, text)
                assert refused is None, refused
            self.game.advance()
            self.events += json.loads(self.game.core.events_json())
        return self

    def once(
        self, red: Mapping[str, Any] | None = None, blue: Mapping[str, Any] | None = None
    ) -> "Bench":
        """One decision."""
        return self.run(0.1, red, blue)

    def robot(self, name: str) -> dict[str, Any]:
        """The full state of a robot, by its id."""
        team, slot = name.split("-")
        for robot in self.game.state()["robots"]:
            if (TEAMS[robot["team"]], robot["slot"]) == (team, int(slot)):
                return dict(robot)
        raise KeyError(name)

    def team(self, name: str) -> dict[str, Any]:
        """The full state of a team."""
        return dict(self.game.state()["teams"][0 if name == "red" else 1])

    def seen(self, kind: str) -> list[dict[str, Any]]:
        """The events of a kind so far."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def rules(self) -> dict[str, Any]:
        """The match's numbers: what the rules' data says, with the bench's changes."""
        return self.game.book.settings

    def dealt(self, attacker: str, target: str) -> list[int]:
        """The damage of every hit of one on another."""
        return [
            event["damage"]
            for event in self.seen("hit")
            if (event["attacker"], event["target"]) == (attacker, target)
        ]

    def forget(self) -> "Bench":
        """Count events from here on."""
        self.events.clear()
        return self

    def observe(self, side: Any = "red") -> dict[str, Any]:
        """A side's observation."""
        seen: dict[str, Any] = json.loads(self.game.observe(side))
        return seen


@pytest.fixture
def bench() -> Any:
    """``bench(season, scenario, red={1: 2612}, blue=…, settings=…)``: a game under deck rules
    when line-ups are given, else with the default ones."""

    def make(
        season: Season = "2026",
        scenario: Mapping[str, Any] | None = None,
        red: Mapping[int, int] | None = None,
        blue: Mapping[int, int] | None = None,
        seed: int = 1,
        **settings: Any,
    ) -> Bench:
        mode: Mode = "standard" if red is None and blue is None else "deck"
        lines = {
            "red": dict(red or lineup.default(season)),
            "blue": dict(blue or red or lineup.default(season)),
        }
        return Bench(
            Game(Setup(season, seed, lines, mode, settings, scenario=scenario))  # type: ignore[arg-type]
        )

    return make
