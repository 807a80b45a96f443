"""``rmuc-arena env``: training environments for programs in any language."""

import contextlib
import os
import sys
from typing import Annotated, Any

import typer

from sysone.arena.cli_run import NOT_AVAILABLE, Refusal
from sysone.arena.envs.jsonl import Stopped, serve, signals_end
from sysone.arena.envs.opponent import isolation_for
from sysone.arena.envs.options import EnvOptions, resolve
from sysone.arena.envs.requests import Requests
from sysone.arena.envs.vector import Pool, StartError
from sysone.arena.errors import ArenaError
from sysone.arena.isolation import UnavailableError
from sysone.arena.json_options import object_of


def env(
    num_envs: Annotated[int, typer.Option(help="Environments, a process each.")] = 1,
    season: Annotated[str | None, typer.Option(help="2026 or 2027.")] = None,
    map_: Annotated[str | None, typer.Option("--map", help="rmuc2026 or rmuc2027.")] = None,
    duration: Annotated[float | None, typer.Option(help="Seconds, 1 to 420.")] = None,
    opponent: Annotated[
        str | None, typer.Option(help="A strategy that drives the other side.")
    ] = None,
    learner: Annotated[str, typer.Option(help="The learner's side: red or blue.")] = "red",
    compact: Annotated[
        bool, typer.Option("--compact", help="What never changes only after a reset.")
    ] = False,
    full_state: Annotated[
        bool, typer.Option("--full-state", help="Add the privileged full state.")
    ] = False,
    action_repeat: Annotated[int, typer.Option(help="Ticks of a step, an even number.")] = 2,
    max_steps: Annotated[
        int | None, typer.Option(help="Steps after which an episode is truncated.")
    ] = None,
    reward: Annotated[str, typer.Option(help="outcome, or score as well.")] = "outcome",
    score_scale: Annotated[
        float, typer.Option(help="Reward of a point of attack damage, with --reward score.")
    ] = 0.001,
    record: Annotated[bool, typer.Option("--record", help="Record, for save_replay.")] = False,
    lineup: Annotated[
        str | None, typer.Option(help="Line-up of both sides: JSON or a file.")
    ] = None,
    lineups: Annotated[
        str | None, typer.Option(help="A free line-up of each side: JSON or a file.")
    ] = None,
    settings: Annotated[str | None, typer.Option(help="Changed settings: JSON or a file.")] = None,
    mode: Annotated[str, typer.Option(help="standard or deck.")] = "standard",
    red_deck: Annotated[str | None, typer.Option(help="Robot strategies: JSON or a file.")] = None,
    blue_deck: Annotated[str | None, typer.Option(help="Robot strategies: JSON or a file.")] = None,
    timeout: Annotated[float, typer.Option(help="The opponent's budget of a decision, s.")] = 0.2,
    rpc_timeout: Annotated[
        float, typer.Option(help="Wall time after which an environment is replaced, s.")
    ] = 60.0,
    isolation: Annotated[str, typer.Option(help="auto, bubblewrap, docker or none.")] = "auto",
    docker_image: Annotated[str | None, typer.Option(help="Image for --isolation docker.")] = None,
    memory_mb: Annotated[int, typer.Option(help="Memory of the opponent's process.")] = 512,
    startup_timeout: Annotated[float, typer.Option(help="Start of the opponent, s.")] = 10.0,
    trusted_local: Annotated[
        bool, typer.Option("--trusted-local", help="The same as --isolation none.")
    ] = False,
) -> None:
    """Serve training environments: one JSON request a line in, one response a line out.

    Exit codes: 0 the input ended or close was asked for, 2 bad options, 4 the isolation is not
    available, 130 and 143 interrupted.
    """

    def read(text: str | None, name: str) -> Any:
        return None if text is None else object_of(text, name)

    options = EnvOptions(
        season=season,
        map=map_,
        duration=duration,
        settings=read(settings, "--settings"),
        lineup=read(lineup, "--lineup"),
        lineups=read(lineups, "--lineups"),
        mode=mode,
        red_deck=read(red_deck, "--red-deck"),
        blue_deck=read(blue_deck, "--blue-deck"),
        opponent=opponent,
        learner=learner,
        action_repeat=action_repeat,
        compact=compact,
        full_state=full_state,
        reward=reward,
        score_scale=score_scale,
        max_steps=max_steps,
        record=record,
        timeout=timeout,
        isolation=isolation,
        trusted_local=trusted_local,
        docker_image=docker_image,
        memory_mb=memory_mb,
        startup_timeout=startup_timeout,
    )
    if num_envs < 1:
        raise ArenaError("usage", f"--num-envs must be at least 1, not {num_envs}")
    if not rpc_timeout > 0:
        raise ArenaError("usage", f"--rpc-timeout must be above 0 seconds, not {rpc_timeout}")
    plan = resolve(options)
    if plan.opponent is not None:
        try:
            held_by = isolation_for(plan).name
        except UnavailableError as error:
            raise Refusal("isolation", str(error), NOT_AVAILABLE) from error
        if held_by == "none":
            print("warning: the opponent runs without isolation", file=sys.stderr)
    # what anything here prints by mistake goes to stderr: stdout is the protocol's
    outgoing = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    pool: Pool | None = None
    try:
        with signals_end():
            try:
                pool = Pool(num_envs, options, rpc_timeout)
                serve(Requests(plan, pool), sys.stdin.buffer, outgoing)
            except StartError as error:
                raise ArenaError("usage", str(error)) from error
            except BrokenPipeError:
                pass  # nobody reads any more
            finally:
                if pool is not None:
                    pool.close()
    except Stopped as stopped:
        raise typer.Exit(128 + stopped.number) from stopped
    finally:
        with contextlib.suppress(BrokenPipeError):
            outgoing.close()


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("env")(env)
