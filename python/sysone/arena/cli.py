"""``rmuc-arena``: matches, replays, rules and strategies.

Results are JSON on standard output, one line a record; everything else goes to standard error.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import msgspec
import typer

from sysone.arena import cli_env, cli_replay, cli_run, ratings, sources, validation
from sysone.arena import doctor as examination
from sysone.arena import match as matches
from sysone.arena.agents import assemble as assembling
from sysone.arena.agents import registry, scaffold
from sysone.arena.agents import submit as submitting
from sysone.arena.cli_output import OutputOption, PrettyOption, document, emit
from sysone.arena.errors import ArenaError
from sysone.arena.json_options import object_of
from sysone.arena.manifest import files
from sysone.arena.pairing import DEFAULT_SEASON
from sysone.arena.rules import models as model_rules
from sysone.arena.rules import settings as rule_settings
from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import season_named
from sysone.runs import RunError
from sysone.runs.options import accept_other_names

NOT_OK = 1
USAGE = 2
INTERRUPTED = 130

app = typer.Typer(
    help="The deterministic match simulator: matches, replays, rules and strategies.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
strategies_app = typer.Typer(help="Strategies that are known here.", no_args_is_help=True)
app.add_typer(cli_replay.app, name="replay")
app.add_typer(strategies_app, name="strategies")
cli_run.add_to(app)
cli_env.add_to(app)

SeasonOption = Annotated[str | None, typer.Option(help="2026 or 2027.")]


def changes_of(text: str | None) -> dict[str, Any]:
    """Changed settings from an option."""
    if text is None:
        return {}
    changes = object_of(text, "--settings")
    if not isinstance(changes, dict):
        raise ArenaError("usage", "--settings must be a JSON object")
    return changes


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
    isolation: Annotated[str, typer.Option(help="auto, bubblewrap, docker, none.")] = "auto",
    trusted_local: Annotated[
        bool, typer.Option("--trusted-local", help="The same as --isolation none.")
    ] = False,
    pretty: PrettyOption = False,
) -> None:
    """Check a strategy: manifest, files, import, decisions, a short match against itself."""
    report = validation.validate(
        ref,
        self_play_s=self_play,
        timeout_s=timeout,
        isolation=cli_run.isolation_of("none" if trusted_local else isolation),
    )
    emit(report, pretty)
    if not report["ok"]:
        raise typer.Exit(NOT_OK)


@app.command("new-agent")
def new_agent(
    name: str,
    season: Annotated[str, typer.Option(help="2026 or 2027.")] = DEFAULT_SEASON,
    mode: Annotated[str, typer.Option(help="team or robot.")] = "team",
    model: Annotated[int | None, typer.Option(help="The robot's model, in robot mode.")] = None,
    folder: Annotated[Path, typer.Option("--dir", help="Where its directory goes.")] = Path(),
) -> None:
    """Write a strategy's directory to begin with; nothing is overwritten."""
    files_ = scaffold.new_agent(
        name, season=season_named(season), mode=mode, model=model, parent=folder
    )
    emit({"type": "new-agent", "files": [str(path) for path in files_]})


@app.command("start-training")
def start_training(
    name: str,
    ref: Annotated[str, typer.Option("--from", help="The strategy to begin with.")],
    env_config: Annotated[
        Path | None, typer.Option(help="JSON: arguments of VectorArena, such as the opponent.")
    ] = None,
    folder: Annotated[Path, typer.Option("--dir", help="Where its folder goes.")] = Path(
        "training"
    ),
) -> None:
    """Write training/NAME: a copy of a strategy, its environment, seeds and a loop to fill in."""
    from sysone.arena.agents import training

    env = {} if env_config is None else training.read_env(env_config)
    files_ = training.start_training(name, ref, env, parent=folder)
    emit({"type": "start-training", "files": [str(path) for path in files_]})


@app.command("refresh-agent")
def refresh_agent(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A strategy's directory.")],
) -> None:
    """Bring a strategy's directory up to the installed SDK; old contents are kept as .bak."""
    from sysone.arena.agents import refresh

    rows = refresh.refresh(folder)
    for row in rows:
        print(row["diff"], end="", file=sys.stderr)
    emit({"type": "refresh-agent", "files": rows})


@app.command()
def assemble(
    team_out: Annotated[Path, typer.Option(help="Directory of the team strategy.")],
    robot: Annotated[list[str], typer.Option(help="SLOT=REF, for each robot.")],
) -> None:
    """Robot strategies, one a slot, as one team strategy with a locked line-up."""
    refs: dict[int, str] = {}
    for text in robot:
        slot, _, ref = text.partition("=")
        if not slot.isdecimal() or not ref or int(slot) in refs:
            raise ArenaError("usage", f"--robot takes each SLOT=REF once, not {text!r}")
        refs[int(slot)] = ref
    emit(assembling.assemble(team_out, refs))


@app.command()
def submit(
    ref: str,
    to: Annotated[Path, typer.Option(help="File of the packed strategy, X.arena.")],
    registry_: Annotated[
        Path | None, typer.Option("--registry", help="A directory that gets a copy and an index.")
    ] = None,
    duration: Annotated[float | None, typer.Option(help="Seconds of each of four games.")] = None,
    timeout: Annotated[float, typer.Option(help="Budget of a decision in seconds.")] = 0.2,
    isolation: Annotated[str, typer.Option(help="auto, bubblewrap, docker, none.")] = "auto",
    trusted_local: Annotated[
        bool, typer.Option("--trusted-local", help="The same as --isolation none.")
    ] = False,
    pretty: PrettyOption = False,
) -> None:
    """Check a strategy, play four games against hold, and pack it; nothing is uploaded."""
    report = submitting.submit(
        ref,
        to,
        isolation=cli_run.isolation_of("none" if trusted_local else isolation),
        limits=matches.Limits(timeout_s=timeout),
        duration_s=duration,
        folder=registry_,
        note=lambda text: print(text, file=sys.stderr),
    )
    emit(report, pretty)
    if not report["ok"]:
        raise typer.Exit(NOT_OK)


@strategies_app.command("sync")
def strategies_sync(
    index: Annotated[str, typer.Option(help="Address or file of an index.")],
    cache: Annotated[Path | None, typer.Option(help="Where fetched strategies are kept.")] = None,
    pretty: PrettyOption = False,
) -> None:
    """Fetch the strategies of an index; hashes are checked, and only this command goes online."""
    if cache is not None:
        os.environ["ARENA_CACHE"] = str(cache)
    rows = registry.sync(index, note=lambda text: print(text, file=sys.stderr))
    emit(rows, pretty)
    if not all(row["ok"] for row in rows):
        raise typer.Exit(NOT_OK)


@app.command()
def doctor(pretty: PrettyOption = False) -> None:
    """What is here and what is missing, with what to do about it."""
    rows = examination.report()
    emit(rows, pretty)
    if not all(row["ok"] for row in rows if row["required"]):
        raise typer.Exit(NOT_OK)


@app.command("ratings")
def show_ratings(
    runs: Annotated[list[Path], typer.Argument(help="Outputs of runs.")],
    pretty: PrettyOption = False,
) -> None:
    """Elo ratings from the results of runs, with 95 % intervals; changes nothing."""
    games = [game for run in runs for game in ratings.games_of(run)]
    emit(msgspec.to_builtins(ratings.rate(games)), pretty)


@app.command("round-robin")
def round_robin(
    refs: Annotated[list[str], typer.Argument(help="Strategies.")],
    games: Annotated[int, typer.Option(help="Seeds for each two, on both sides.")] = 1,
    seed: Annotated[int, typer.Option(help="First seed.")] = 0,
    duration: Annotated[float | None, typer.Option(help="Seconds of a game.")] = None,
    output: OutputOption = None,
    pretty: PrettyOption = False,
) -> None:
    """A list for run --jobs in which everybody meets everybody."""
    fields = {"games": games, "seed": seed, **({} if duration is None else {"duration": duration})}
    document(ratings.round_robin(refs, fields), output, pretty)


@app.command()
def play(
    file: Annotated[Path, typer.Argument(help="A replay, or the directory of a run.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: choose one.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Start no browser.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="OUT.html", help="Write one file instead.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Simulate it again first.")] = False,
) -> None:
    """Show a replay or a run in a local page, as `sysone view` does."""
    # the one door from a world to the viewer, which knows the worlds
    from sysone.viewer.cli import show

    show([file], port, no_open=no_open, html=html, verify=verify)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The command as a program; does not return."""
    command = accept_other_names(typer.main.get_command(app))
    try:
        words = sys.argv[1:] if arguments is None else arguments
        code = command.main(list(several(words)), prog_name="rmuc-arena", standalone_mode=False)
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
        if isinstance(error, cli_run.Refusal):
            _usage(error.code, str(error), error.exit_code)
        if isinstance(error, ArenaError):
            _usage(error.code, str(error))
        if isinstance(error, RunError | OSError):
            _usage("io", str(error))
        raise


def several(words: Sequence[str]) -> Iterator[str]:
    """``--seeds 1 2 3`` as the option three times, which is how it is read."""
    naming = False
    for word in words:
        if word.startswith("-"):
            naming = word == "--seeds"
            if not naming:
                yield word
        elif naming:
            yield from ("--seeds", word)
        else:
            yield word


def _usage(code: str, message: str, exit_code: int = USAGE) -> NoReturn:
    print(json.dumps({"type": "error", "code": code, "message": message}), file=sys.stderr)
    sys.exit(exit_code)
