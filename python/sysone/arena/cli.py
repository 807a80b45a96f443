"""``rmuc-arena``: matches, replays, rules and strategies.

Results are JSON on standard output, one line a record; everything else goes to standard error.
"""

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
import typer

from sysone.arena import lineup as lineups
from sysone.arena import match as matches
from sysone.arena import replay as replays
from sysone.arena import sources, validation
from sysone.arena.engine import MOST_SEED, TEAMS, Setup, Team
from sysone.arena.errors import ArenaError
from sysone.arena.lineup import Lineup
from sysone.arena.manifest import files
from sysone.arena.rules import models as model_rules
from sysone.arena.rules import settings as rule_settings
from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import Season, season_named
from sysone.runs import RunError
from sysone.runs.atomic import write_text

DEFAULT_SEASON: Season = "2027"
NOT_OK = 1
USAGE = 2
EXISTS = 3
NO_ISOLATION = 4
INTERRUPTED = 130

app = typer.Typer(
    help="The deterministic match simulator: matches, replays, rules and strategies.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
replay_app = typer.Typer(help="Look at recorded matches and verify them.", no_args_is_help=True)
strategies_app = typer.Typer(help="Strategies that are known here.", no_args_is_help=True)
app.add_typer(replay_app, name="replay")
app.add_typer(strategies_app, name="strategies")

SeasonOption = Annotated[str | None, typer.Option(help="2026 or 2027.")]
PrettyOption = Annotated[bool, typer.Option(help="Indent the JSON.")]
OutputOption = Annotated[Path | None, typer.Option(help="Write to this file instead.")]


def emit(value: Any, pretty: bool = False) -> None:
    """Print one JSON record."""
    print(json.dumps(value, indent=1 if pretty else None, allow_nan=False), flush=True)


def document(value: Any, output: Path | None, pretty: bool) -> None:
    """Print one JSON document, or write it to a file."""
    if output is None:
        emit(value, pretty)
    else:
        write_text(output, json.dumps(value, indent=1) + "\n")


def object_of(text: str, what: str) -> Any:
    """JSON from an option: the text itself, or a file that it names.

    Raises:
        ArenaError: neither is JSON.
    """
    stripped = text.lstrip()
    try:
        if stripped.startswith(("{", "[")):
            return json.loads(text)
        return json.loads(Path(text).read_text(encoding="utf-8"))
    except OSError as error:
        raise ArenaError("usage", f"{what}: {text}: {error.strerror}") from error
    except ValueError as error:
        raise ArenaError("usage", f"{what} is not JSON: {error}") from error


def changes_of(text: str | None) -> dict[str, Any]:
    """Changed settings from an option."""
    if text is None:
        return {}
    changes = object_of(text, "--settings")
    if not isinstance(changes, dict):
        raise ArenaError("usage", "--settings must be a JSON object")
    return changes


@app.command()
def match(
    red: Annotated[str | None, typer.Option(help="Strategy A.")] = None,
    blue: Annotated[str | None, typer.Option(help="Strategy B.")] = None,
    seed: Annotated[str, typer.Option(help="0 to 2^64 - 1.")] = "0",
    swap_sides: Annotated[bool, typer.Option(help="A plays blue.")] = False,
    season: SeasonOption = None,
    map_: Annotated[str | None, typer.Option("--map", help="rmuc2026 or rmuc2027.")] = None,
    duration: Annotated[float | None, typer.Option(help="Seconds, 1 to 420.")] = None,
    settings: Annotated[str | None, typer.Option(help="Changed settings: JSON or a file.")] = None,
    lineup: Annotated[
        str | None, typer.Option(help="Line-up of sides without a locked one.")
    ] = None,
    mode: Annotated[str, typer.Option(help="standard or deck.")] = "standard",
    red_deck: Annotated[str | None, typer.Option(help="Robot strategies: JSON or a file.")] = None,
    blue_deck: Annotated[str | None, typer.Option(help="Robot strategies: JSON or a file.")] = None,
    red_control: Annotated[str, typer.Option(help="individual or team (deck).")] = "individual",
    blue_control: Annotated[str, typer.Option(help="individual or team (deck).")] = "individual",
    red_team_strategy: Annotated[str | None, typer.Option(help="Needed by team control.")] = None,
    blue_team_strategy: Annotated[str | None, typer.Option(help="Needed by team control.")] = None,
    timeout: Annotated[float, typer.Option(help="Budget of a decision in seconds.")] = 0.2,
    startup_timeout: Annotated[float, typer.Option(help="Start of a strategy, seconds.")] = 10.0,
    match_timeout: Annotated[float, typer.Option(help="Wall time of the match, seconds.")] = 1800.0,
    memory_mb: Annotated[int, typer.Option(help="Memory of a strategy's process.")] = 512,
    isolation: Annotated[str, typer.Option(help="auto or none.")] = "auto",
    trusted_local: Annotated[
        bool, typer.Option("--trusted-local", help="The same as none.")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Replay: X.json or X.json.gz.")] = None,
    logs: Annotated[Path | None, typer.Option(help="Folder for the strategies' output.")] = None,
    pretty: PrettyOption = False,
) -> None:
    """Play one match and print its result."""
    if not trusted_local and isolation != "none":
        if isolation != "auto":
            raise ArenaError("usage", f"--isolation must be auto or none, not {isolation!r}")
        fail(
            "isolation",
            "no isolation backend is available; --trusted-local runs strategies as plain processes",
            NO_ISOLATION,
        )
    print("warning: strategies run without isolation", file=sys.stderr)
    if output is not None and output.exists():
        fail("output_exists", f"{output} is already there", EXISTS)
    wanted = None if season is None else season_named(season)
    if map_ is not None:
        if map_ not in ("rmuc2026", "rmuc2027") or (wanted and map_ != f"rmuc{wanted}"):
            raise ArenaError("usage", f"--map must be rmuc2026 or rmuc2027, not {map_!r}")
        wanted = season_named(map_.removeprefix("rmuc"))
    if mode == "standard":
        if any((red_deck, blue_deck, red_team_strategy, blue_team_strategy)):
            raise ArenaError("usage", "decks need --mode deck")
        chosen, lines, sides = standard(wanted, red, blue, lineup)
    elif mode == "deck":
        if red or blue or lineup:
            raise ArenaError("usage", "--mode deck takes --red-deck and --blue-deck")
        chosen, lines, sides = deck(
            wanted,
            (red_deck, blue_deck),
            (red_control, blue_control),
            (red_team_strategy, blue_team_strategy),
        )
    else:
        raise ArenaError("usage", f"--mode must be standard or deck, not {mode!r}")
    if swap_sides:
        lines, sides = swapped(lines), swapped(sides)
    setup = Setup(
        season=chosen,
        seed=seed_of(seed),
        lineups=lines,
        mode="deck" if mode == "deck" else "standard",
        changes=changes_of(settings),
        duration_s=duration,
    )
    setup.ticks(Book.of(chosen, setup.changes))
    limits = matches.Limits(timeout, startup_timeout, match_timeout, memory_mb)
    played = matches.play(
        setup, sides, limits, record=output is not None, swapped=swap_sides, log_folder=logs
    )
    if output is not None and played.replay:
        replays.write(output, played.replay)
        played.result["replay"] = str(output)
    emit(played.result, pretty)
    if played.result["status"] != "ok":
        raise typer.Exit(NOT_OK)


def seed_of(text: str) -> int:
    """A seed from an option."""
    if not text.isdecimal() or int(text) > MOST_SEED:
        raise ArenaError("usage", f"--seed must be from 0 to 2^64 - 1, not {text!r}")
    return int(text)


def swapped(pair: dict[Team, Any]) -> dict[Team, Any]:
    """Red's for blue and blue's for red."""
    return {"red": pair["blue"], "blue": pair["red"]}


Resolved = tuple[Season, dict[Team, Lineup], dict[Team, matches.Side]]


def standard(
    wanted: Season | None, red: str | None, blue: str | None, line: str | None
) -> Resolved:
    """Season, line-ups and sides of a standard match."""
    named = [sources.find(ref) if ref else None for ref in (red, blue)]
    seasons = {one.manifest.strategy.season for one in named if one is not None}
    season: Season = wanted or (
        season_named(seasons.pop()) if len(seasons) == 1 else DEFAULT_SEASON
    )
    lines: dict[Team, Lineup] = {}
    sides: dict[Team, matches.Side] = {}
    given = None if line is None else lineups.read(object_of(line, "--lineup"))
    for side, one in zip(TEAMS, named, strict=True):
        strategy = one or sources.find(f"bundled:std_{season}_hold")
        head = strategy.manifest.strategy
        if head.season != season:
            raise ArenaError(
                "usage", f"{head.key} is for season {head.season}, the match is of {season}"
            )
        if head.mode != "team":
            raise ArenaError("usage", f"{head.key} drives one robot; use --mode deck")
        roster = strategy.manifest.roster
        if roster is not None and (roster.lock or given is None):
            lines[side] = lineups.read(roster.robots)
        else:
            lines[side] = given or lineups.default(season)
        lineups.validate(lines[side], season)
        sides[side] = matches.Side("team", {0: strategy})
    return season, lines, sides


def deck(
    wanted: Season | None,
    decks: Sequence[str | None],
    controls: Sequence[str],
    teams: Sequence[str | None],
) -> Resolved:
    """Season, line-ups and sides of a deck match."""
    lines: dict[Team, Lineup] = {}
    sides: dict[Team, matches.Side] = {}
    season = wanted
    for side, text, control, team in zip(TEAMS, decks, controls, teams, strict=True):
        if text is None:
            raise ArenaError("usage", "--mode deck needs --red-deck and --blue-deck")
        refs = object_of(text, f"--{side}-deck")
        if not isinstance(refs, list) or not all(isinstance(ref, str) for ref in refs):
            raise ArenaError("usage", f"--{side}-deck must be a list of strategy references")
        found = {slot: sources.find(ref) for slot, ref in enumerate(refs, 1)}
        lines[side] = {}
        for slot, strategy in found.items():
            robot, head = strategy.manifest.robot, strategy.manifest.strategy
            if robot is None:
                raise ArenaError("usage", f"--{side}-deck: {head.key} drives a whole team")
            season = season or season_named(head.season)
            if head.season != season:
                raise ArenaError("usage", f"{head.key} is for season {head.season}, not {season}")
            lines[side][slot] = robot.model
        if control == "team":
            if team is None:
                raise ArenaError("usage", f"--{side}-control team needs --{side}-team-strategy")
            sides[side] = matches.Side("team", {0: sources.find(team)})
        elif control == "individual":
            sides[side] = matches.Side("individual", found)
        else:
            raise ArenaError(
                "usage", f"--{side}-control must be individual or team, not {control!r}"
            )
    assert season is not None
    for side in TEAMS:
        lineups.validate(lines[side], season, "deck")
    return season, lines, sides


@app.command()
def settings(
    season: Annotated[str, typer.Option(help="2026 or 2027.")] = DEFAULT_SEASON,
    schema: Annotated[bool, typer.Option("--schema", help="The JSON Schema.")] = False,
    sources_: Annotated[
        bool, typer.Option("--sources", help="Every number with where it comes from.")
    ] = False,
    diff: Annotated[str | None, typer.Option(help="What this JSON or file changes.")] = None,
    output: OutputOption = None,
    pretty: PrettyOption = False,
) -> None:
    """The numbers of a season's rules."""
    chosen = season_named(season)
    if sum((schema, sources_, diff is not None)) > 1:
        raise ArenaError("usage", "--schema, --sources and --diff exclude each other")
    if schema:
        return document(rule_settings.schema(chosen), output, pretty)
    if sources_:
        rows = rule_settings.sources(chosen)
        return document(
            {"season": chosen, "tags": rule_settings.TAGS, "settings": rows}, output, pretty
        )
    if diff is not None:
        book = Book.of(chosen, changes_of(diff))
        plain = rule_settings.defaults(chosen)
        rows = [
            {"key": key, "default": plain[key], "value": value}
            for key, value in book.changes.items()
        ]
        return document(rows, output, pretty)
    return document(rule_settings.defaults(chosen), output, pretty)


@app.command()
def models(
    season: Annotated[str, typer.Option(help="2026 or 2027.")] = DEFAULT_SEASON,
    role: Annotated[str | None, typer.Option(help="Only this role.")] = None,
    model: Annotated[int | None, typer.Option(help="Only this model, as one object.")] = None,
    slot: Annotated[int | None, typer.Option(help="Only models for this slot.")] = None,
    output: OutputOption = None,
    pretty: PrettyOption = False,
) -> None:
    """The robots of a season with all their numbers."""
    chosen = season_named(season)
    rows = Book.of(chosen).models
    if model is not None:
        for row in rows:
            if row["model"] == model:
                return document(row, output, pretty)
        raise ArenaError("usage", f"{model} is no model of season {chosen}")
    fits = model_rules.catalogue().slots[chosen]
    if slot is not None and str(slot) not in fits:
        raise ArenaError("usage", f"season {chosen} has no slot {slot}")
    rows = [
        row
        for row in rows
        if role in (None, row["role"]) and (slot is None or fits[str(slot)] == row["role"])
    ]
    return document(rows, output, pretty)


@strategies_app.command("list")
def strategies_list(
    season: SeasonOption = None,
    mode: Annotated[str | None, typer.Option(help="team or robot.")] = None,
    source: Annotated[str | None, typer.Option(help="bundled or local.")] = None,
    search: Annotated[str | None, typer.Option(help="Text in key, name or an alias.")] = None,
    pretty: PrettyOption = False,
) -> None:
    """Strategies of the package and of the user's own folder."""
    emit(sources.listing(season, mode, source, search), pretty)


@strategies_app.command("show")
def strategies_show(ref: str, pretty: PrettyOption = False) -> None:
    """A strategy's manifest and files."""
    found = sources.find(ref)
    head = found.manifest.strategy
    roster = found.manifest.roster
    emit(
        {
            "key": head.key,
            "name": head.name,
            "version": head.version,
            "authors": head.authors,
            "season": head.season,
            "mode": head.mode,
            "entry": head.entry,
            "roster": None if roster is None else {"lock": roster.lock, "robots": roster.robots},
            "model": None if found.manifest.robot is None else found.manifest.robot.model,
            "source": found.source,
            "version_hash": found.version_hash,
            "files": [
                {"path": name, "bytes": path.stat().st_size} for name, path in files(found.folder)
            ],
        },
        pretty,
    )


@app.command()
def validate(
    ref: str,
    self_play: Annotated[float, typer.Option(help="Seconds of a match against itself.")] = 10.0,
    timeout: Annotated[float, typer.Option(help="Budget of a decision in seconds.")] = 0.2,
    pretty: PrettyOption = False,
) -> None:
    """Check a strategy: manifest, files, import, decisions, a short match against itself."""
    report = validation.validate(ref, self_play_s=self_play, timeout_s=timeout)
    emit(report, pretty)
    if not report["ok"]:
        raise typer.Exit(NOT_OK)


@replay_app.command("info")
def replay_info(file: Path, pretty: PrettyOption = False) -> None:
    """Header, sizes, strategies and result."""
    emit(replays.info(file), pretty)


@replay_app.command("verify")
def replay_verify(
    file: Annotated[list[Path], typer.Argument(help="Replays.")],
    force: Annotated[bool, typer.Option("--force", help="Also another engine's replay.")] = False,
) -> None:
    """Simulate recorded matches again and compare every tick."""
    ok = True
    for path in file:
        report = replays.verify(path, force=force)
        emit(report)
        ok = ok and report["ok"]
    if not ok:
        raise typer.Exit(NOT_OK)


@replay_app.command("show")
def replay_show(
    file: Path,
    at: Annotated[float, typer.Option(help="Seconds from the start.")] = 0.0,
    pretty: PrettyOption = False,
) -> None:
    """The full state at a time."""
    emit(replays.show(file, at), pretty)


@replay_app.command("export")
def replay_export(
    file: Path,
    format_: Annotated[str, typer.Option("--format", help="jsonl, csv or npz.")] = "jsonl",
    output: Annotated[Path | None, typer.Option(help="File; npz needs one.")] = None,
) -> None:
    """Robots' positions and numbers over time, for analysis."""
    columns, rows = replays.frames(file)
    if format_ == "npz":
        if output is None:
            raise ArenaError("usage", "--format npz needs --output")
        np.savez_compressed(output, **dict(zip(columns, np.array(rows).T, strict=True)))
        return
    if format_ not in ("jsonl", "csv"):
        raise ArenaError("usage", f"--format must be jsonl, csv or npz, not {format_!r}")
    target = sys.stdout if output is None else output.open("w", newline="", encoding="utf-8")
    try:
        if format_ == "csv":
            writer = csv.writer(target, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)
        else:
            for row in rows:
                target.write(json.dumps(dict(zip(columns, row, strict=True))) + "\n")
    finally:
        if output is not None:
            target.close()


def fail(code: str, message: str, exit_code: int) -> NoReturn:
    """End with one JSON line on standard error."""
    print(json.dumps({"type": "error", "code": code, "message": message}), file=sys.stderr)
    raise typer.Exit(exit_code)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The command as a program; does not return."""
    command = typer.main.get_command(app)
    try:
        code = command.main(arguments, prog_name="rmuc-arena", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except typer.Exit as error:
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error, file=sys.stderr)
            sys.exit(USAGE)
        if type(error).__name__ == "Abort":
            sys.exit(INTERRUPTED)
        message = getattr(error, "format_message", None)
        if message is not None:
            _usage("usage", message())
        if isinstance(error, ArenaError):
            _usage(error.code, str(error))
        if isinstance(error, RunError | OSError):
            _usage("io", str(error))
        raise


def _usage(code: str, message: str) -> NoReturn:
    print(json.dumps({"type": "error", "code": code, "message": message}), file=sys.stderr)
    sys.exit(USAGE)
