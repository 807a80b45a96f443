"""``sysone arc``: an offline test track for ARC-AGI-3 agents."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from sysone.arc.cli_common import (
    DEGRADED,
    GAMES_DIR,
    INTERRUPTED,
    NOTHING_PLAYED,
    USAGE,
    Backend,
    Checkpoint,
    CollectPolicy,
    ConfigFile,
    Environments,
    Force,
    Policy,
    Rules,
    System1Address,
    System1Model,
    System2Address,
    fail,
    needed_model,
    warm,
    words,
)
from sysone.arc.cli_games import fetch_games, games_app, list_games
from sysone.arc.cli_learn import add_learning
from sysone.arc.cli_look import mask, play, trace
from sysone.executors.options import EngineChoice, EngineOption, RayAddressOption, check
from sysone.runs.atomic import dumps
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

if TYPE_CHECKING:
    from sysone.arc.config import Config
    from sysone.arc.jobs import Options
    from sysone.arc.models import Wanted
    from sysone.executors import Engine

app = typer.Typer(
    help="An offline test track for ARC-AGI-3 agents, by the competition's rules.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(games_app, name="games")


@app.command("eval")
def evaluate(
    games: Annotated[
        list[str] | None,
        typer.Option(
            help="all, all25, practice, held-out, mock or ids, by spaces or commas  [default: mock]"
        ),
    ] = None,
    environments_dir: Environments = GAMES_DIR,
    config: ConfigFile = None,
    max_actions: Annotated[
        int | None, typer.Option(min=1, help="Actions a game; resets count  [default: 2000]")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0.0, metavar="S", help="Seconds a game  [default: 900]")
    ] = None,
    deadline: Annotated[
        float, typer.Option(min=0.0, metavar="S", help="Seconds for the whole run; 0: none.")
    ] = 0.0,
    policy: Policy = None,
    agent: Annotated[
        str, typer.Option(metavar="MODULE:CLASS", help="Somebody else's agent instead.")
    ] = "",
    system1: System1Address = "",
    system1_model: System1Model = "",
    backend: Annotated[
        Backend | None, typer.Option(help="What runs a checkpoint  [default: auto]")
    ] = None,
    checkpoint: Checkpoint = "",
    no_checkpoint: Annotated[
        bool, typer.Option("--no-checkpoint", help="Fresh weights that nothing has trained.")
    ] = False,
    force: Force = False,
    system2: System2Address = "",
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
    engine: EngineOption = EngineChoice.local,
    ray_address: RayAddressOption = None,
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
    list_games_: Annotated[
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
    from sysone.arc.models import Wanted

    check(engine, ray_address)
    if record and engine is EngineChoice.ray:
        raise typer.BadParameter("writes here: without --engine ray.", param_hint="--record")
    try:
        if compare is not None:
            _compare(*compare)
            return
        if list_games_:
            list_games(environments_dir)
            return
        if download_only:
            fetch_games(environments_dir, [])
            return
        settings = _settings(config, max_actions, time_limit)
        wanted = Wanted(
            policy=policy.value if policy is not None else "",
            agent=agent,
            backend=backend.value if backend is not None else "",
            checkpoint=checkpoint,
            no_checkpoint=no_checkpoint,
            force=force,
            system1=system1,
            system1_model=system1_model,
            system2=system2,
        )
        options = _options(
            wanted,
            settings,
            games=words(games or ["mock"]),
            environments_dir=environments_dir,
            deadline_s=deadline,
            raw_policy=raw_policy,
            rules=rules.value,
            human_cutoff=human_cutoff,
            record=record,
            seeds=seeds,
        )
        code = _evaluate(options, out, resume, json_, jobs, engine.value, ray_address)
    except RunError as error:
        fail(error)
    except KeyboardInterrupt:
        fail(f"interrupted; finished games are in {out}, --resume goes on", INTERRUPTED)
    if code:
        raise typer.Exit(code)


def _settings(path: Path | None, max_actions: int | None, time_limit_s: float | None) -> "Config":
    from sysone.arc.config import load_config

    try:
        settings = load_config(path)
    except RunError as error:
        fail(error, USAGE)
    flags = {"max_actions": max_actions, "game_time_limit_s": time_limit_s}
    given = {key: value for key, value in flags.items() if value is not None}
    hybrid = msgspec.structs.replace(settings.hybrid, **given)
    return msgspec.structs.replace(settings, hybrid=hybrid)


def _options(
    wanted: "Wanted",
    settings: "Config",
    *,
    games: list[str],
    seeds: str,
    environments_dir: Path,
    **rest: Any,
) -> "Options":
    from sysone.arc.jobs import Options, resolve_games
    from sysone.arc.models import choose_models, make_system2
    from sysone.arc.plug import load_agent_class

    try:
        listed = [int(word) for word in words([seeds])]
    except ValueError:
        raise typer.BadParameter(
            f"{seeds!r} are not whole numbers.", param_hint="--seeds"
        ) from None
    if not listed:
        raise typer.BadParameter("no seed is given.", param_hint="--seeds")
    try:
        models = choose_models(wanted, settings)
        if wanted.agent:
            load_agent_class(wanted.agent)
        if wanted.system1:
            from sysone.arc.endpoint import system1_at

            system1_at(wanted.system1, wanted.system1_model)
        if models.system2:
            make_system2(models)
    except RunError as error:
        fail(error, USAGE)
    return Options(
        games=resolve_games(games, environments_dir),
        environments_dir=str(environments_dir),
        seeds=listed,
        max_actions=settings.hybrid.max_actions,
        time_limit_s=settings.hybrid.game_time_limit_s,
        policy=models.policy,
        agent=wanted.agent,
        models=models,
        settings=settings,
        **rest,
    )


def _evaluate(
    options: "Options",
    out: Path,
    resume: bool,
    json_: bool,
    jobs: int,
    engine: "Engine",
    ray_address: str | None,
) -> int:
    from sysone.arc.evaluate import Evaluation
    from sysone.arc.report import table

    with Progress() as progress:
        warm(progress)
        _warn(options, progress)
        evaluation = Evaluation(options, out, progress)
        if resume and (kept := evaluation.resume()):
            progress.note(f"{kept} finished games are kept from {out}")
        report = evaluation.run(jobs, engine, ray_address)
        progress.note(f"report in {out}")
    if json_:
        typer.echo(dumps(report, indent=1))
    else:
        for line in table(report):
            typer.echo(line)
    if not report["games"]:
        return NOTHING_PLAYED
    return DEGRADED if evaluation.degraded else 0


def _warn(options: "Options", progress: Progress) -> None:
    """One line where a model that is asked for will not decide."""
    from sysone.arc.models import MODELS, trouble

    if options.agent:
        return
    if options.policy not in MODELS:
        if options.models.note:
            progress.note(f"{options.models.note}; the heuristic plays")
        return
    instead = "the heuristic plays in its place; the report is degraded"
    reason = trouble(options.models)
    if reason is not None:
        progress.note(f"{reason}; {instead}")


def _compare(first: Path, second: Path) -> None:
    from sysone.arc.report import compare as compare_reports

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
def list_command(environments_dir: Environments = GAMES_DIR) -> None:
    """Which games there are on this machine (short for games list)."""
    list_games(environments_dir)


add_learning(app)
app.command()(play)
app.command()(trace)
app.command()(mask)


@app.command()
def collect(
    games: Annotated[list[str] | None, typer.Option(help="As in eval.")] = None,
    config: ConfigFile = None,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Episodes a game  [default: 8]")
    ] = None,
    max_actions: Annotated[
        int | None, typer.Option(min=1, help="Actions an episode  [default: 400]")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Share of random candidates  [default: 0.25]"),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="[default: 0]")] = None,
    policy: Annotated[
        CollectPolicy | None,
        typer.Option(
            help="Who decides; solver: the search over a practice game's rules, and every third "
            "episode the explorer  [default: heuristic; hybrid where a model is given]"
        ),
    ] = None,
    checkpoint: Checkpoint = "",
    system2: System2Address = "",
    system1: System1Address = "",
    system1_model: System1Model = "",
    environments_dir: Environments = GAMES_DIR,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to.")] = Path("traces"),
    time_limit: Annotated[
        float, typer.Option(min=0.0, metavar="S", help="Stop between episodes after; 0: never.")
    ] = 0.0,
) -> None:
    """Play and write down every step, for training. Finished episodes are not played again."""
    from sysone.arc.collect import Settings
    from sysone.arc.collect import collect as collect_traces
    from sysone.arc.config import load_config
    from sysone.arc.jobs import resolve_games
    from sysone.arc.models import Wanted, choose_models
    from sysone.arc.practice.build import SUITE

    flags = {"episodes": episodes, "max_actions": max_actions, "epsilon": epsilon, "seed": seed}
    given = {key: value for key, value in flags.items() if value is not None}
    model_given = system1 or checkpoint
    asked = policy.value if policy is not None else "hybrid" if model_given else "heuristic"
    wanted = Wanted(
        policy=asked,
        checkpoint=checkpoint,
        system1=system1,
        system1_model=system1_model,
        system2=system2,
    )
    try:
        settings = load_config(config)
        models = choose_models(wanted, settings)
    except RunError as error:
        fail(error, USAGE)
    try:
        needed_model(models)
        resolved = resolve_games(words(games or ["mock"]), environments_dir)
        chosen = msgspec.structs.replace(settings.collect, **given)
        collection = Settings(
            resolved,
            policy=models.policy,
            models=models,
            explorer_weight=settings.hybrid.explorer_weight,
            time_limit_s=time_limit,
            **msgspec.structs.asdict(chosen),
        )
        ours = all((SUITE / game).is_dir() or game.startswith("mock") for game in resolved)
        with Progress() as progress:
            warm(progress)
            folder = SUITE if ours else environments_dir
            summary = collect_traces(collection, out, folder, progress)
    except RunError as error:
        fail(error)
    except KeyboardInterrupt:
        fail(f"interrupted; finished episodes are in {out}", INTERRUPTED)
    typer.echo(dumps(summary, indent=1))
