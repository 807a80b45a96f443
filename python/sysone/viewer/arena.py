"""An arena replay for the page, and the run directory that holds many."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from sysone.arena.engine import TEAMS
from sysone.arena.errors import ArenaError
from sysone.arena.record import SPOOL_SUFFIX, End, assemble
from sysone.arena.replay import Replay, decode, verify
from sysone.arena.rules import models as model_rules
from sysone.runs.errors import RunError, unreadable
from sysone.viewer.document import Document, Header, Item, Opened, Tone, Verdict
from sysone.viewer.live import Overview, is_fresh
from sysone.viewer.reading import read_file, read_object

FORMAT: Final = "arena-replay-v1"
FIELD: Final = Path(model_rules.__file__).with_name("field.json")
QUIET: Final = frozenset({"shot", "message"})
"""Events that the page does not need: shots are drawn from their own table."""
OUTCOMES: Final[dict[str, Tone]] = {"win": "good", "loss": "bad", "draw": "plain"}


def read_replay(path: Path, raw: bytes) -> Replay:
    """The replay in a text that was read from a path.

    Raises:
        RunError: it is none, or of another version of the format.
    """
    try:
        found = decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path} is no arena replay of the format {FORMAT}: {error}") from error
    except RecursionError:
        raise RunError(f"{path} is no arena replay: it is nested too deeply") from None
    return found


def document(path: Path, title: str | None = None, verified: Verdict | None = None) -> Document:
    """The screen of a replay's file.

    Raises:
        RunError: see `read_replay`; or its parts do not fit together.
    """
    return replay_document(path, read_file(path), title, verified)


def replay_document(
    path: Path, raw: bytes, title: str | None, verified: Verdict | None
) -> Document:
    """The screen of a replay that was read (see `document`)."""
    replay = read_replay(path, raw)
    if replay.season not in ("2026", "2027"):
        raise RunError(f"{path}: season is {replay.season!r}, expected 2026 or 2027")
    ids = robot_ids(replay)
    return Document(
        kind="arena",
        header=Header(
            world="arena",
            title=title or path.name,
            about=_about(replay),
            when=replay.created,
            versions=replay.fingerprints,
            verdict=winner_of(replay.result, replay.truncated),
        ),
        data={
            "season": replay.season,
            "duration": replay.duration,
            "start": _start(replay),
            "field": field_of(replay.season),
            "robots": [{"id": name, "model": model} for name, model in ids],
            "models": models_of({model for _, model in ids}, replay.season),
            "strategies": replay.strategies,
            "keyframes": replay.keyframes,
            "shots": replay.shots,
            "events": [event for event in replay.events if event.get("type") not in QUIET],
            "actions": replay.actions,
            "errors": replay.errors,
            "result": replay.result,
            "truncated": replay.truncated,
            "verified": verified,
        },
        can_verify=verified is None,
    )


def _about(replay: Replay) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = [(side, name_of(replay.strategies.get(side))) for side in TEAMS]
    rows += [("season", replay.season), ("seed", str(replay.seed)), ("mode", replay.mode)]
    if replay.settings:
        rows.append(("settings", json.dumps(replay.settings)))
    return rows


def name_of(strategy: Any) -> str:
    """A side's strategy in a word; a deck's robots one by one."""
    if not isinstance(strategy, dict):
        return "?"
    if "deck" in strategy:
        deck = strategy["deck"] if isinstance(strategy["deck"], list) else []
        names = [name_of(entry) for entry in deck]
        return f"deck: {', '.join(names)}"
    return f"{strategy.get('key', '?')} {strategy.get('version', '')}".strip()


def winner_of(result: dict[str, Any], truncated: bool = False) -> Verdict:
    """Who won, and why."""
    winner, reason = result.get("winner"), result.get("reason")
    if truncated or reason is None:
        return Verdict("arena_cut", {}, "plain")
    return Verdict(
        "arena_draw" if winner is None else "arena_won",
        {"winner": str(winner), "reason": str(reason)},
        "plain",
    )


def robot_ids(replay: Replay) -> list[tuple[str, int]]:
    """Id and model of every robot, in the order of the keyframes."""
    removed = set((replay.scenario or {}).get("remove", []))
    try:
        listed = [
            (f"{side}-{entry['slot']}", int(entry["model"]))
            for side in TEAMS
            for entry in replay.lineups[side]
        ]
    except (KeyError, TypeError) as error:
        raise RunError(f"the replay's lineups lack {error}") from error
    return [robot for robot in listed if robot[0] not in removed]


def _start(replay: Replay) -> int:
    return round(float((replay.scenario or {}).get("time", 0)) * 20)


def field_of(season: str) -> dict[str, Any]:
    """The field file without what another season has."""
    field: dict[str, Any] = json.loads(FIELD.read_bytes())

    def ours(item: Any) -> bool:
        return season in item.get("seasons", [season])

    for name in ("ground", "solids", "rough", "gates", "zones", "cards"):
        field[name] = [item for item in field[name] if ours(item)]
    field["walls"]["items"] = [item for item in field["walls"]["items"] if ours(item)]
    return field


def models_of(numbers: set[int], season: str) -> dict[str, Any]:
    """Role, chassis, calibre and hit points of some models."""
    from sysone.arena.rules.book import Book
    from sysone.arena.rules.settings import season_named

    rows = Book.of(season_named(season)).models
    return {str(row["model"]): row for row in rows if row["model"] in numbers}


def verified(path: Path) -> Verdict:
    """Simulate a replay again and compare every tick's digest.

    Raises:
        RunError: it cannot be simulated.
    """
    try:
        report = verify(path)
    except ArenaError as error:
        raise RunError(str(error)) from error
    if report["ok"]:
        return Verdict("verified", {"ticks": report["ticks"]}, "good")
    if not report["fingerprint_match"]:
        return Verdict("verify_other", {}, "plain")
    mismatch = report["first_mismatch"] or {}
    return Verdict("verify_failed", {"tick": mismatch.get("tick")}, "bad")


def opened(path: Path, *, verify_now: bool = False) -> Opened:
    """A replay's file."""

    def make() -> Document:
        return document(path, verified=verified(path) if verify_now else None)

    return Opened(path.name, {"": make}, verify={"": partial(verified, path)})


# Run directories ------------------------------------------------------------------------------


def read_results(folder: Path) -> list[dict[str, Any]]:
    """The last result of each game of a run; a line that was cut is left out."""
    path = folder / "results.jsonl"
    if not path.exists():
        return []
    latest: dict[Any, dict[str, Any]] = {}
    for line in read_file(path).split(b"\n")[:-1]:
        try:
            row = json.loads(line)
        except ValueError as error:
            raise RunError(f"{path} has a line that is no JSON: {error}") from error
        if isinstance(row, dict) and row.get("type") == "result":
            latest[row.get("index")] = row
    return [latest[index] for index in sorted(latest, key=lambda key: (key is None, key))]


def run_document(folder: Path) -> Document:
    """The overview of a run directory.

    Raises:
        RunError: a file of it cannot be read.
    """
    run = read_object(folder / "run.json")
    if run.get("format") != "arena-run-v1":
        raise RunError(f"{folder / 'run.json'}: format is {run.get('format')!r}")
    summary = read_object(folder / "summary.json") if (folder / "summary.json").exists() else {}
    rows = read_results(folder)
    items, table = [], []
    for row in rows:
        tone = OUTCOMES.get(str(row.get("outcome")), "plain")
        name = _replay_name(folder, row)
        final = row.get("final") or {}
        label = f"#{row.get('index')}"
        if name is not None:
            items.append(Item(name=name, label=label, detail=str(row.get("status")), tone=tone))
        table.append(
            {
                "item": name,
                "tone": tone,
                "cells": [
                    label,
                    row.get("seed"),
                    *(name_of((row.get("strategies") or {}).get(side)) for side in TEAMS),
                    row.get("status"),
                    row.get("winner"),
                    row.get("reason"),
                    *((final.get(side) or {}).get("base_hp") for side in TEAMS),
                    *((final.get(side) or {}).get("attack_damage") for side in TEAMS),
                    (row.get("error") or {}).get("message"),
                ],
            }
        )
    strategies = run.get("strategies") or {}
    about = [(side, name_of(strategies.get(side))) for side in ("A", "B") if strategies.get(side)]
    config = run.get("config") or {}
    about += [(key, str(config[key])) for key in ("duration", "mode", "season") if config.get(key)]
    return Document(
        kind="report",
        header=Header(
            world="arena",
            title=folder.name,
            about=about,
            when=run.get("created"),
            versions={k: str(v) for k, v in (run.get("fingerprints") or {}).items()},
            verdict=_run_verdict(summary),
        ),
        data={
            "tables": [
                {
                    "title": "games",
                    "columns": [
                        *("game", "seed", "red", "blue", "status", "winner", "reason"),
                        *("red_base", "blue_base", "red_damage", "blue_damage", "error"),
                    ],
                    "rows": table,
                }
            ],
            "facts": [
                [key, summary[key]]
                for key in ("total", "completed", "valid", "wins", "losses", "draws", "errors")
                if key in summary
            ],
            "charts": _run_charts(rows),
        },
        items=items,
        live=summary.get("state") == "running",
    )


def _replay_name(folder: Path, row: dict[str, Any]) -> str | None:
    """The replay of a result, if there is one inside the folder."""
    name = row.get("replay")
    if not isinstance(name, str):
        return None
    path = (folder / name).resolve()
    inside = path.is_relative_to(folder.resolve()) and path.is_file()
    return name if inside else None


def _run_verdict(summary: dict[str, Any]) -> Verdict:
    keys = ("wins", "losses", "draws", "win_rate", "errors", "pending")
    values = {key: summary.get(key) for key in keys}
    bad = bool(summary.get("errors"))
    return Verdict("arena_run", values, "bad" if bad else "plain")


def _run_charts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    done = [row for row in rows if row.get("final")]
    if not done:
        return []
    labels = [f"#{row.get('index')}" for row in done]
    return [
        {
            "title": "damage",
            "kind": "bar",
            "x": labels,
            "series": [
                {
                    "name": side,
                    "colour": side,
                    "y": [(row["final"].get(side) or {}).get("attack_damage") for row in done],
                }
                for side in TEAMS
            ],
        }
    ]


def run_opened(folder: Path) -> Opened:
    """A run directory with all its replays, those that come while it is watched too."""
    games = _Games(folder)
    return Opened(
        folder.name,
        games,
        live={"": lambda: Overview(partial(run_document, folder))},
        verify=games.verifying,
    )


class _Games(dict[str, Callable[[], Document]]):
    """Documents of a run by replay; looks again when a name is missing."""

    def __init__(self, folder: Path) -> None:
        super().__init__({"": partial(run_document, folder)})
        self.folder = folder
        self.verifying: dict[str, Callable[[], Verdict]] = {}
        self._look()

    def _look(self) -> None:
        for row in read_results(self.folder):
            name = _replay_name(self.folder, row)
            if name is not None:
                path = self.folder / name
                self.setdefault(name, partial(document, path, f"{self.folder.name} / {name}"))
                self.verifying.setdefault(name, partial(verified, path))

    def get(self, name: str, default: Any = None) -> Any:
        """A game's document."""
        if name not in self:
            self._look()
        return super().get(name, default)


# A match that goes on -------------------------------------------------------------------------


def spool_document(spool: Path) -> Document:
    """The screen of a match as far as it is spooled; of its replay once that is there.

    Raises:
        RunError: it is no spool, or has no decision yet.
    """
    replay = spool.with_name(spool.name.removesuffix(SPOOL_SUFFIX))
    try:
        with spool.open("rb") as file:
            raw = assemble(file, End({}, "", truncated=True))
    except FileNotFoundError:
        return document(replay)
    except OSError as error:
        raise unreadable(spool, error) from error
    except ArenaError as error:
        raise RunError(f"{spool}: {error}") from error
    found = replay_document(spool, raw, replay.name, None)
    return msgspec.structs.replace(found, live=is_fresh(spool), can_verify=False)


def spool_opened(spool: Path) -> Opened:
    """A match that is being played."""
    make = partial(spool_document, spool)
    return Opened(spool.name, {"": make}, live={"": lambda: Overview(make)})
