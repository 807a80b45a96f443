"""What an evaluation is made of: its options, and one game of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from sysone.arc.collect import TraceWriter, record_game
from sysone.arc.config import Config
from sysone.arc.decide import Agent
from sysone.arc.env import MOCKS, RuleSet, make_env
from sysone.arc.games import PUBLIC_LIST
from sysone.arc.models import MODELS, SHIPPED, Chosen, make_system1, make_system2
from sysone.arc.play import Limits, play_game
from sysone.arc.plug import PluggedPlayer, load_agent_class, make_agent
from sysone.arc.policy import make_policy
from sysone.arc.practice.build import SUITE, held_out_ids
from sysone.arc.toolkit import games_on_disk
from sysone.runs.errors import RunError, unreadable

SHIPPED_CANDIDATES: Final = 40
"""What the shipped model was trained with; more only cost time."""


class Options(msgspec.Struct, frozen=True):
    """What an evaluation does; it goes into the report as it is."""

    games: list[str]
    environments_dir: str
    max_actions: int = 2000
    time_limit_s: float = 900.0
    deadline_s: float = 0.0
    """For the whole run, divided evenly among the unfinished games; 0: none."""
    policy: str = "heuristic"
    agent: str = ""
    """``module:Class`` of a plugged-in agent; it wins over the policy."""
    rules: RuleSet = "competition"
    human_cutoff: float = 0.0
    seeds: list[int] = msgspec.field(default_factory=lambda: [0])
    raw_policy: bool = False
    models: Chosen = Chosen("heuristic")
    """What a model policy asks."""
    settings: Config = Config()
    """The resolved ``--config``; what is also a flag has the flag's value."""
    record: str = ""
    """Folder for a trace of every game that an agent of ours plays; empty: none."""


class Job(msgspec.Struct, frozen=True):
    """One game with one seed."""

    game: str
    seed: int
    options: Options
    policy: str
    time_limit_s: float


def resolve_games(names: Sequence[str], folder: Path) -> list[str]:
    """The ids that ``--games`` means, without doubles.

    Raises:
        RunError: a word that is none of them, or a list that is not there.
    """
    found: list[str] = []
    for name in names:
        if name == "mock":
            found += MOCKS
        elif name == "practice":
            found += [game.id for game in games_on_disk(SUITE)]
        elif name == "held-out":
            found += sorted(held_out_ids())
        elif name == "all":
            found += [game.id for game in games_on_disk(folder)]
        elif name == "all25":
            path = folder / PUBLIC_LIST
            if not path.is_file():
                raise RunError(f"{path} is missing; run games fetch")
            found += [str(id_).split("-", 1)[0] for id_ in read_json(path)["games"]]
        else:
            found.append(name)
    if not found:
        raise RunError("no games are chosen")
    return list(dict.fromkeys(found))


def play_job(job: Job) -> dict[str, Any]:
    """The row of one game.

    Raises:
        RunError: the game or the agent does not start.
    """
    options = job.options
    folder = SUITE if _is_practice(job.game) else Path(options.environments_dir)
    env = make_env(job.game, folder, options.rules, 0 if _is_mock(job.game) else job.seed)
    limits = Limits(options.max_actions, job.time_limit_s, options.human_cutoff)
    if options.agent and job.policy == "agent":
        player = PluggedPlayer(make_agent(load_agent_class(options.agent), env.game_id, env))
        played = play_game(env, player, limits)
        played.errors = dict(player.errors)
        row = played.row()
        row["decisions"]["agent"] = played.decisions.get("agent", 0)
        if player.failure:
            row["failure"] = player.failure
        return row
    agent = make_player(job)
    if options.record and job.policy == options.policy:
        try:
            writer = TraceWriter(
                Path(options.record) / job.game / f"seed{job.seed}.jsonl", env.game_id, job.seed
            )
        except RunError:
            agent.errors["recording"] += 1  # the game is played all the same
        else:
            row, _ = record_game(env, agent, limits, writer)
            writer.close()
            return row
    played = play_game(env, agent, limits)
    row = played.row()
    if played.broken:
        row["ended_by"] = played.broken
    return row


def make_player(job: Job) -> Agent:
    """The agent of a job. A model policy without a model is the explorer, and reports say so."""
    options = job.options
    if job.policy not in MODELS:
        return Agent(make_policy(job.policy, job.seed))
    settings = options.settings
    try:
        system1 = make_system1(options.models)
    except RunError:
        system1 = None  # said once, before the first game
    hybrid = job.policy == "hybrid"
    return Agent(
        make_policy("heuristic", job.seed),
        system1=system1,
        system2=make_system2(options.models),
        raw_policy=options.raw_policy,
        max_candidates=max_candidates(options.models, settings),
        hybrid=settings.hybrid,
        explorer_weight=settings.hybrid.explorer_weight if hybrid else 1.0,
        sample=settings.system1.sample,
        seed=job.seed,
    )


def max_candidates(models: Chosen, settings: Config) -> int:
    """As configured; the shipped model is asked about as many as it was trained with."""
    configured = settings.system1.max_candidates
    return min(configured, SHIPPED_CANDIDATES) if models.checkpoint == SHIPPED else configured


def _is_mock(game: str) -> bool:
    return game.startswith("mock") and (game[4:].isdecimal() or not game[4:])


def _is_practice(game: str) -> bool:
    return (SUITE / game).is_dir()


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        RunError: it cannot be read, or is none.
    """
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise RunError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise RunError(f"{path} is no JSON object")
    return found
