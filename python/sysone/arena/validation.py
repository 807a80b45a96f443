"""Checks that a strategy must pass before it is used or handed on."""

from typing import Any

from sysone.arena import lineup as lineups
from sysone.arena import match as matches
from sysone.arena import sources
from sysone.arena.engine import TEAMS, Game, Setup, Team
from sysone.arena.errors import ArenaError
from sysone.arena.isolation import Isolation
from sysone.arena.lineup import Lineup, Mode
from sysone.arena.manifest import files
from sysone.arena.rules.settings import season_named

DECISIONS_S = 2.0
"""Twenty decisions."""


def validate(
    ref: str, *, self_play_s: float, timeout_s: float, isolation: Isolation
) -> dict[str, Any]:
    """Check a strategy; the report says what passed and why the rest did not.

    Manifest, files, import in a process of its own and 20 decisions, and a match against itself.
    """
    checks: list[dict[str, Any]] = []

    def check(name: str, ok: bool, detail: str) -> bool:
        checks.append({"name": name, "ok": ok, "detail": detail})
        return ok

    def report() -> dict[str, Any]:
        return {"type": "validate", "ok": all(row["ok"] for row in checks), "checks": checks}

    try:
        strategy = sources.find(ref)
    except ArenaError as error:
        check("manifest", False, str(error))
        return report()
    head = strategy.manifest.strategy
    check("manifest", True, f"{head.key} {head.version}, season {head.season}, {head.mode}")
    names = [name for name, _ in files(strategy.folder)]
    module = head.entry.split(":")[0] + ".py"
    missing = [name for name in (module, *strategy.manifest.data.files) if name not in names]
    if not check("files", not missing, f"missing: {missing}" if missing else f"{len(names)} files"):
        return report()
    setup, sides = against_itself(strategy)
    limits = matches.Limits(timeout_s=timeout_s)
    for name, seconds in (("decisions", DECISIONS_S), ("self_play", self_play_s)):
        short = Setup(setup.season, setup.seed, setup.lineups, setup.mode, {}, seconds)
        result = matches.play(short, sides, limits, isolation=isolation).result
        if not check(name, result["status"] == "ok", _detail(result)):
            break
    else:
        Game(setup)  # its line-up is legal
    return report()


def against_itself(strategy: sources.Strategy) -> tuple[Setup, dict[Team, matches.Side]]:
    """A match of a strategy on both sides."""
    head = strategy.manifest.strategy
    season = season_named(head.season)
    mode: Mode = "standard"
    line: Lineup = lineups.default(season)
    side = matches.Side("team", {0: strategy})
    if strategy.manifest.robot is not None:
        mode, line = "deck", {1: strategy.manifest.robot.model}
        side = matches.Side("individual", {1: strategy})
    elif strategy.manifest.roster is not None:
        line = lineups.read(strategy.manifest.roster.robots)
    return Setup(season, 0, dict.fromkeys(TEAMS, line), mode), dict.fromkeys(TEAMS, side)


def _detail(result: dict[str, Any]) -> str:
    if result["error"] is not None:
        return f"{result['error']['code']}: {result['error']['message']}"
    faults = {}
    for side in TEAMS:
        report = result["strategies"][side]
        for row in report.get("deck", [report]):
            if row["errors"]:
                faults[side] = {"errors": row["errors"], "first": row["first_errors"][:1]}
    return str(faults) if faults else f"{result['ticks']} ticks without an error"
