"""``sysone arc play``, ``trace`` and ``mask``: looking at a game in the terminal."""

from typing import Annotated, Any

import typer

from sysone.arc.cli_common import (
    GAMES_DIR,
    INTERRUPTED,
    USAGE,
    Checkpoint,
    Environments,
    Policy,
    Seed,
    System1Address,
    System1Model,
    fail,
    make_game,
    needed_model,
)
from sysone.runs.atomic import dumps
from sysone.runs.errors import RunError


def play(
    game: Annotated[str, typer.Argument(help="A game's id.")] = "mock0",
    environments_dir: Environments = GAMES_DIR,
    policy: Policy = None,
    checkpoint: Checkpoint = "",
    system1: System1Address = "",
    system1_model: System1Model = "",
    max_actions: Annotated[int, typer.Option(min=1, help="Actions.")] = 200,
    seed: Seed = 0,
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
        env = make_game(game, environments_dir, seed)
        player: Any = (
            ByHand() if by_hand else _agent(policy, checkpoint, system1, system1_model, seed)
        )
        row = watch(env, player, max_actions, every, delay, not no_colour)
    except RunError as error:
        fail(error)
    except KeyboardInterrupt:
        fail("interrupted", INTERRUPTED)
    typer.echo(dumps(row))


def trace(
    game: Annotated[str, typer.Argument(help="A game's id.")] = "mock0",
    environments_dir: Environments = GAMES_DIR,
    policy: Policy = None,
    checkpoint: Checkpoint = "",
    system1: System1Address = "",
    system1_model: System1Model = "",
    max_actions: Annotated[int, typer.Option(min=1, help="Actions.")] = 50,
    seed: Seed = 0,
) -> None:
    """One line an action: what was done, by whom, what changed, and whether that was new."""
    from sysone.arc.terminal import trace_lines

    try:
        env = make_game(game, environments_dir, seed)
        player = _agent(policy, checkpoint, system1, system1_model, seed)
        for line in trace_lines(env, player, max_actions):
            typer.echo(line)
    except RunError as error:
        fail(error)


def mask(
    game: Annotated[str, typer.Argument(help="A game's id.")] = "mock1",
    environments_dir: Environments = GAMES_DIR,
    actions: Annotated[int, typer.Option(min=0, help="Actions to learn from.")] = 12,
    seed: Seed = 0,
) -> None:
    """What is taken for a HUD after some actions: masked cells are dots."""
    from sysone.arc.terminal import mask_lines

    try:
        for line in mask_lines(make_game(game, environments_dir, seed), actions, seed):
            typer.echo(line)
    except RunError as error:
        fail(error)


def _agent(policy: Policy, checkpoint: str, system1: str, system1_model: str, seed: int) -> Any:
    from sysone.arc.config import Config
    from sysone.arc.decide import Agent
    from sysone.arc.jobs import max_candidates
    from sysone.arc.models import Wanted, choose_models
    from sysone.arc.policy import make_policy

    asked = policy.value if policy is not None else ""
    wanted = Wanted(
        policy=asked, checkpoint=checkpoint, system1=system1, system1_model=system1_model
    )
    config = Config()
    try:
        chosen = choose_models(wanted, config)
    except RunError as error:
        fail(error, USAGE)
    if chosen.note:
        typer.echo(f"sysone arc: {chosen.note}; the heuristic plays", err=True)
    model = needed_model(chosen)
    if model is None:
        return Agent(make_policy(chosen.policy, seed))
    return Agent(
        make_policy("heuristic", seed),
        system1=model,
        max_candidates=max_candidates(chosen, config),
        explorer_weight=config.hybrid.explorer_weight if chosen.policy == "hybrid" else 1.0,
    )
