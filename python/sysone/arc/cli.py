"""``sysone arc``: an offline test track for ARC-AGI-3 agents."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from sysone.runs.atomic import dumps
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

if TYPE_CHECKING:
    from sysone.arc.evaluate import Options

USAGE, DEGRADED, NOTHING_PLAYED, INTERRUPTED = 2, 3, 4, 130
"""Exit codes beside 0."""


class PolicyName(StrEnum):
    """Who decides."""

    hybrid = "hybrid"
    system1 = "system1"
    heuristic = "heuristic"
    random = "random"


class Rules(StrEnum):
    """How resets count."""

    competition = "competition"
    normal = "normal"


app = typer.Typer(
    help="An offline test track for ARC-AGI-3 agents, by the competition's rules.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
games_app = typer.Typer(help="List, fetch and make games.", no_args_is_help=True)
app.add_typer(games_app, name="games")

Environments = Annotated[
    Path, typer.Option("--environments-dir", metavar="DIR", help="Folder of games.")
]
GamesDir = Path("environment_files")


def _fail(error: object, code: int = 1) -> NoReturn:
    typer.echo(f"sysone arc: {error}", err=True)
    raise typer.Exit(code)


def _words(values: list[str]) -> list[str]:
    return [word for value in values for word in value.replace(",", " ").split()]


@app.command("eval")
def evaluate(
    games: Annotated[
        list[str] | None,
        typer.Option(
            help="all, all25, practice, held-out, mock or ids, by spaces or commas  [default: mock]"
        ),
    ] = None,
    environments_dir: Environments = GamesDir,
    max_actions: Annotated[int, typer.Option(min=1, help="Actions a game; resets count.")] = 2000,
    time_limit: Annotated[
        float, typer.Option(min=0.0, metavar="S", help="Seconds a game.")
    ] = 900.0,
    deadline: Annotated[
        float, typer.Option(min=0.0, metavar="S", help="Seconds for the whole run; 0: none.")
    ] = 0.0,
    policy: Annotated[PolicyName, typer.Option(help="Who decides.")] = PolicyName.heuristic,
    agent: Annotated[
        str, typer.Option(metavar="MODULE:CLASS", help="Somebody else's agent instead.")
    ] = "",
    raw_policy: Annotated[
        bool, typer.Option("--raw-policy", help="A model's probabilities without our prior.")
    ] = False,
    rules: Annotated[
        Rules, typer.Option(help="competition: level resets only, one play a game.")
    ] = Rules.competition,
    human_cutoff: Annotated[
        float,
        typer.Option(min=0.0, help="End a game at so many times a level's baseline; 0: never."),
    ] = 0.0,
    seeds: Annotated[str, typer.Option(help="Seeds, by spaces or commas.")] = "0",
    jobs: Annotated[int, typer.Option(min=1, help="Games at a time.")] = 1,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The report.")] = Path(
        "eval_report.json"
    ),
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the report that is there.")
    ] = False,
    record: Annotated[
        str, typer.Option(metavar="DIR", help="Write a trace of every game, as collect does.")
    ] = "",
    json_: Annotated[bool, typer.Option("--json", help="The report on stdout too.")] = False,
    list_games: Annotated[
        bool, typer.Option("--list-games", help="Say which games there are, and end.")
    ] = False,
    download_only: Annotated[
        bool, typer.Option("--download-only", help="Fetch the public games, and end.")
    ] = False,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="A B", help="Compare two reports game by game, and end."),
    ] = None,
) -> None:
    """Play games and score them as the competition does (RHAE, percent).

    A table goes to stdout, progress to stderr. Exit codes: 0 fine, 2 usage, 3 a model was asked
    for and did not decide, 4 nothing played.
    """
    try:
        if compare is not None:
            _compare(*compare)
            return
        if list_games:
            _list(environments_dir)
            return
        if download_only:
            _fetch(environments_dir, [])
            return
        options = _options(
            games=_words(games or ["mock"]),
            environments_dir=environments_dir,
            max_actions=max_actions,
            time_limit_s=time_limit,
            deadline_s=deadline,
            policy=policy.value,
            agent=agent,
            raw_policy=raw_policy,
            rules=rules.value,
            human_cutoff=human_cutoff,
            record=record,
            seeds=seeds,
        )
        code = _evaluate(options, out, resume, jobs, json_)
    except RunError as error:
        _fail(error)
    except KeyboardInterrupt:
        _fail(f"interrupted; finished games are in {out}, --resume goes on", INTERRUPTED)
    if code:
        raise typer.Exit(code)


def _options(*, games: list[str], seeds: str, environments_dir: Path, **rest: Any) -> "Options":
    from sysone.arc.evaluate import Options, resolve_games
    from sysone.arc.plug import load_agent_class

    try:
        listed = [int(word) for word in _words([seeds])]
    except ValueError:
        raise typer.BadParameter(
            f"{seeds!r} are not whole numbers.", param_hint="--seeds"
        ) from None
    if not listed:
        raise typer.BadParameter("no seed is given.", param_hint="--seeds")
    if rest["agent"]:
        try:
            load_agent_class(rest["agent"])
        except RunError as error:
            _fail(error, USAGE)
    resolved = resolve_games(games, environments_dir)
    return Options(games=resolved, environments_dir=str(environments_dir), seeds=listed, **rest)


def _evaluate(options: "Options", out: Path, resume: bool, jobs: int, json_: bool) -> int:
    from sysone.arc.evaluate import Evaluation, table

    with Progress() as progress:
        _warm(progress)
        evaluation = Evaluation(options, out, progress)
        if resume and (kept := evaluation.resume()):
            progress.note(f"{kept} finished games are kept from {out}")
        report = evaluation.run(jobs)
        progress.note(f"report in {out}")
    if json_:
        typer.echo(dumps(report, indent=1))
    else:
        for line in table(report):
            typer.echo(line)
    if not report["games"]:
        return NOTHING_PLAYED
    return DEGRADED if evaluation.degraded else 0


def _warm(progress: Progress) -> None:
    """Compile what is not compiled, before anything is timed."""
    from sysone_core import grids

    seconds = grids.warm()
    if seconds > 3 and grids.backend() == "numba":
        progress.note(f"grid kernels compiled once, {seconds:.0f} s; later runs load them")


def _compare(first: Path, second: Path) -> None:
    from sysone.arc.evaluate import compare as compare_reports

    found = compare_reports(first, second)
    for game, pair in found["games"].items():
        typer.echo(f"{game}: {pair['a']:.3f} -> {pair['b']:.3f} ({pair['difference']:+.3f})")
    low, high = found["interval"]
    typer.echo(
        f"difference: {found['difference']:+.3f} % (95 % interval {low:+.3f} to {high:+.3f}), "
        f"{len(found['games'])} games"
    )
    if not found["same_rules"]:
        typer.echo("the reports were made under different rules", err=True)


@app.command("list")
def list_command(environments_dir: Environments = GamesDir) -> None:
    """Which games there are on this machine (short for games list)."""
    _list(environments_dir)


@games_app.command("list")
def games_list(
    environments_dir: Environments = GamesDir,
    online: Annotated[
        bool, typer.Option("--online", help="Ask the game service what it lists.")
    ] = False,
) -> None:
    """Which games there are; the practice suite and the mocks always are."""
    if online:
        from sysone.arc.games import listed_online

        try:
            for game_id in listed_online(environments_dir):
                typer.echo(game_id)
        except RunError as error:
            typer.echo(f"sysone arc: {error}; what is on disk:", err=True)
        else:
            return
    _list(environments_dir)


def _list(folder: Path) -> None:
    from sysone.arc.env import MOCKS
    from sysone.arc.practice.build import SUITE
    from sysone.arc.toolkit import games_on_disk

    try:
        typer.echo(f"mock: {' '.join(MOCKS)}")
        places = [("practice", SUITE)]
        if folder.is_dir():
            places.append((str(folder), folder))
        for name, place in places:
            for game in games_on_disk(place):
                data = game.metadata
                levels = len(data.baseline_actions)
                typer.echo(
                    f"{name}: {data.game_id}  {levels} levels, baselines {data.baseline_actions}, "
                    f"{' '.join(data.tags)}"
                )
        if not folder.is_dir():
            typer.echo(f"{folder} is not there; games fetch makes it", err=True)
    except RunError as error:
        _fail(error)


@games_app.command("fetch")
def games_fetch(
    ids: Annotated[list[str] | None, typer.Argument(help="Games; none: all listed.")] = None,
    environments_dir: Environments = GamesDir,
    yes: Annotated[bool, typer.Option("--yes", help="Go online without asking.")] = False,
) -> None:
    """Download public games once; everything after that is offline."""
    if not yes:
        asked = "This contacts the public game service with an anonymous key. Go online?"
        if not sys.stdin.isatty():
            _fail("games fetch goes online; --yes is consent", USAGE)
        typer.confirm(asked, abort=True, err=True)
    try:
        _fetch(environments_dir, _words(ids or []))
    except RunError as error:
        _fail(error)


def _fetch(folder: Path, ids: list[str]) -> None:
    from sysone.arc.games import fetch

    with Progress() as progress:
        done, failed = fetch(folder, ids, progress)
    typer.echo(f"{len(done)} games in {folder}")
    if failed:
        _fail(f"the service did not give {', '.join(failed)}")


@games_app.command("make")
def games_make(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to.")],
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other games.")] = 0,
) -> None:
    """Make training games that combine mechanics; three mechanics are never among them."""
    from sysone.arc.practice.build import generate
    from sysone.arc.practice.levels import HELD_OUT

    try:
        written = generate(out, seed, count)
    except RunError as error:
        _fail(error)
    for folder in written:
        typer.echo(str(folder))
    typer.echo(f"held out: {', '.join(HELD_OUT)}", err=True)


@app.command()
def play(
    game: Annotated[str, typer.Argument(help="A game's id.")] = "mock0",
    environments_dir: Environments = GamesDir,
    policy: Annotated[PolicyName, typer.Option(help="Who decides.")] = PolicyName.heuristic,
    max_actions: Annotated[int, typer.Option(min=1, help="Actions.")] = 200,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    every: Annotated[int, typer.Option(min=1, help="Show every so many actions.")] = 1,
    delay: Annotated[float, typer.Option(min=0.0, metavar="S", help="Wait between.")] = 0.0,
    by_hand: Annotated[
        bool, typer.Option("--by-hand", help="You choose: 1 to 5, 7, 6 X Y, r, q.")
    ] = False,
    no_colour: Annotated[bool, typer.Option("--no-colour", help="Hex digits instead.")] = False,
) -> None:
    """Watch a game being played, in colour, step by step."""
    from sysone.arc.terminal import ByHand, watch

    try:
        env = _make(game, environments_dir, seed)
        agent: Any = ByHand() if by_hand else _agent(policy.value, seed)
        row = watch(env, agent, max_actions, every, delay, not no_colour)
    except RunError as error:
        _fail(error)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED)
    typer.echo(dumps(row))


@app.command()
def trace(
    game: Annotated[str, typer.Argument(help="A game's id.")] = "mock0",
    environments_dir: Environments = GamesDir,
    policy: Annotated[PolicyName, typer.Option(help="Who decides.")] = PolicyName.heuristic,
    max_actions: Annotated[int, typer.Option(min=1, help="Actions.")] = 50,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """One line an action: what was done, by whom, what changed, and whether that was new."""
    from sysone.arc.terminal import trace_lines

    try:
        env = _make(game, environments_dir, seed)
        for line in trace_lines(env, _agent(policy.value, seed), max_actions):
            typer.echo(line)
    except RunError as error:
        _fail(error)


@app.command()
def mask(
    game: Annotated[str, typer.Argument(help="A game's id.")] = "mock1",
    environments_dir: Environments = GamesDir,
    actions: Annotated[int, typer.Option(min=0, help="Actions to learn from.")] = 12,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """What is taken for a HUD after some actions: masked cells are dots."""
    from sysone.arc.terminal import mask_lines

    try:
        for line in mask_lines(_make(game, environments_dir, seed), actions, seed):
            typer.echo(line)
    except RunError as error:
        _fail(error)


@app.command()
def collect(
    games: Annotated[list[str] | None, typer.Option(help="As in eval.")] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes a game.")] = 8,
    max_actions: Annotated[int, typer.Option(min=1, help="Actions an episode.")] = 400,
    epsilon: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of random candidates.")
    ] = 0.25,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    policy: Annotated[PolicyName, typer.Option(help="Who decides.")] = PolicyName.heuristic,
    environments_dir: Environments = GamesDir,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to.")] = Path("traces"),
    time_limit: Annotated[
        float, typer.Option(min=0.0, metavar="S", help="Stop between episodes after; 0: never.")
    ] = 0.0,
) -> None:
    """Play and write down every step, for training. Finished episodes are not played again."""
    from sysone.arc.collect import Settings
    from sysone.arc.collect import collect as collect_traces
    from sysone.arc.evaluate import resolve_games
    from sysone.arc.practice.build import SUITE

    try:
        if policy in (PolicyName.hybrid, PolicyName.system1):
            raise RunError(f"--policy {policy.value} needs a checkpoint, and none is installed")
        resolved = resolve_games(_words(games or ["mock"]), environments_dir)
        settings = Settings(
            resolved,
            episodes,
            max_actions,
            epsilon,
            seed,
            policy.value,
            time_limit_s=time_limit,
        )
        ours = all((SUITE / game).is_dir() or game.startswith("mock") for game in resolved)
        with Progress() as progress:
            _warm(progress)
            summary = collect_traces(settings, out, SUITE if ours else environments_dir, progress)
    except RunError as error:
        _fail(error)
    except KeyboardInterrupt:
        _fail(f"interrupted; finished episodes are in {out}", INTERRUPTED)
    typer.echo(dumps(summary, indent=1))


def _make(game: str, folder: Path, seed: int) -> Any:
    from sysone.arc.env import make_env
    from sysone.arc.practice.build import SUITE

    return make_env(game, SUITE if (SUITE / game).is_dir() else folder, seed=seed)


def _agent(policy: str, seed: int) -> Any:
    from sysone.arc.decide import Agent
    from sysone.arc.policy import make_policy

    if policy in ("hybrid", "system1"):
        raise RunError(f"--policy {policy} needs a checkpoint, and none is installed")
    return Agent(make_policy(policy, seed))
