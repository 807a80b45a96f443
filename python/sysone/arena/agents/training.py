"""``start-training``: a folder in which a strategy is trained, and what it was begun with."""

import json
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sysone.arena import manifest as manifests
from sysone.arena import sources
from sysone.arena.engine import Game, static
from sysone.arena.envs.options import EnvOptions, EnvPlan, resolve
from sysone.arena.errors import ArenaError
from sysone.arena.manifest import KEY
from sysone.arena.player import Player
from sysone.arena.rules.book import Book
from sysone.arena.sources import Strategy
from sysone.runs.atomic import write_json, write_text

FORMAT: Final = "arena-training-v1"
CONFIG: Final = "config.json"
SEEDS: Final = {"train": list(range(64)), "evaluate": list(range(1000, 1032))}
"""Apart, so that what is learnt is measured on matches that were not learnt from."""
TRAIN: Final = '''\
"""Plays the strategy in this folder against its opponent, and keeps what came of it.

    python train.py --envs 4 --rounds 10 --trusted-local

Where it says so below is the place for learning. A round is one episode of each environment over
the training seeds; logs/rounds.jsonl gets a line for each.
"""

import argparse
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from rmuc_arena.vector_env import VectorArena

FOLDER = Path(__file__).parent
CONFIG = json.loads((FOLDER / "config.json").read_text())
SEEDS = json.loads((FOLDER / "seeds.json").read_text())
INFO = json.loads((FOLDER / "info.json").read_text())
"""What a strategy is told of its match; the seed's hint is that of the first seed."""
sys.path.insert(0, str(FOLDER / "strategy"))


class Learner:
    """The strategy in strategy/, once for each environment: it may keep things of its match."""

    def __init__(self, number: int) -> None:
        name, _, self.entry = CONFIG["entry"].partition(":")
        path = FOLDER / "strategy" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"{name}_{number}", path)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.call("setup")

    def call(self, hook: str) -> None:
        """One of the hooks that a strategy may have."""
        if hasattr(self.module, hook):
            getattr(self.module, hook)(INFO)

    def begin(self) -> None:
        """A new match."""
        self.state: dict[str, Any] = {}
        self.call("reset")

    def act(self, observation: dict[str, Any]) -> dict[str, Any]:
        """Its actions."""
        return getattr(self.module, self.entry)(observation, self.state)


def play(envs: VectorArena, learners: list[Learner], seeds: list[int]) -> list[float]:
    """An episode for each seed; the learner's summed rewards."""
    side = INFO["team"]
    returns: list[float] = []
    for begin in range(0, len(seeds), len(learners)):
        batch = seeds[begin : begin + len(learners)]
        running = list(range(len(batch)))
        sums = dict.fromkeys(running, 0.0)
        for number in running:
            learners[number].begin()
        states = envs.reset(seeds=batch, env_ids=running)
        while running:
            actions = [
                {side: learners[state["env_id"]].act(state["observations"][side])}
                for state in states
            ]
            states = envs.step(actions, env_ids=running)
            for state in states:
                sums[state["env_id"]] += state["rewards"][side]
            states = [state for state in states if not (state["terminated"] or state["truncated"])]
            running = [state["env_id"] for state in states]
        returns += sums.values()
    return returns


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--envs", type=int, default=2, help="environments, a process each")
    parser.add_argument("--rounds", type=int, default=1, help="passes over the training seeds")
    parser.add_argument("--seeds", type=int, default=8, help="training seeds of a round")
    parser.add_argument("--trusted-local", action="store_true", help="opponent without a sandbox")
    given = parser.parse_args()
    learners = [Learner(number) for number in range(given.envs)]
    options = {**CONFIG["env"], **({"trusted_local": True} if given.trusted_local else {})}
    log = FOLDER / "logs" / "rounds.jsonl"
    with VectorArena(given.envs, **options) as envs, log.open("a") as file:
        for number in range(given.rounds):
            returns = play(envs, learners, SEEDS["train"][: given.seeds])
            # Learn from the episodes here: change strategy/ or the parameters that it reads.
            line = {"round": number, "episodes": len(returns)}
            line["mean_reward"] = sum(returns) / len(returns)
            print(json.dumps(line), file=file, flush=True)
            print(json.dumps(line), flush=True)


if __name__ == "__main__":  # the environments are processes
    main()
'''


def start_training(
    name: str, ref: str, env: Mapping[str, Any], *, parent: Path = Path("training")
) -> list[Path]:
    """Write ``parent/name`` with a copy of a strategy; returns its files.

    ``env`` are arguments of `VectorArena`.

    Raises:
        ArenaError: the name is no key, the folder is there, or a reference or option is wrong.
    """
    if not KEY.fullmatch(name):
        raise ArenaError("usage", f"NAME must be 3 to 64 of a-z, 0-9 and _, not {name!r}")
    folder = parent / name
    if folder.exists():
        raise ArenaError("exists", f"{folder} is already there; nothing was written")
    origin = sources.find(ref)
    head = origin.manifest.strategy
    if head.mode != "team":
        raise ArenaError("usage", f"--from: {head.key} drives one robot, not a team")
    given = {"season": head.season, "reward": "score", **env}
    plan = resolve(EnvOptions.of(given))
    if plan.season != head.season:
        raise ArenaError(
            "usage", f"--from: {head.key} is for season {head.season}, not {plan.season}"
        )
    for file, path in manifests.files(origin.folder):
        target = folder / "strategy" / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    (folder / "logs").mkdir()
    write_json(
        folder / CONFIG,
        {
            "format": FORMAT,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "from": origin.identity(),
            "entry": head.entry,
            "env": given,
            "lineups": plan.told_lineups(),
            "opponent": None if plan.opponent is None else plan.opponent.identity(),
            "fingerprints": dict(Book.of(plan.season, plan.options.settings or {}).fingerprints),
        },
        indent=1,
    )
    write_json(folder / "seeds.json", SEEDS)
    write_json(folder / "info.json", _info(origin, plan))
    write_text(folder / "train.py", TRAIN)
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _info(strategy: Strategy, plan: EnvPlan) -> dict[str, Any]:
    """What the strategy would be told of a match."""
    setup = plan.setup(SEEDS["train"][0])
    game = Game(setup)
    world = {
        "settings": game.book.settings,
        "static": static(game.book),
        "seed_hints": [game.core.seed_hint(team) for team in (0, 1)],
    }
    slots = sorted(setup.lineups[plan.learner])
    return Player(strategy, plan.learner, 0).info(setup, slots, world)


def read_env(path: Path) -> dict[str, Any]:
    """The object in ``--env-config``.

    Raises:
        ArenaError: it cannot be read or is no JSON object.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArenaError("usage", f"--env-config: {path}: {error.strerror}") from error
    except ValueError as error:
        raise ArenaError("usage", f"--env-config: {path} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ArenaError("usage", f"--env-config: {path} must hold an object")
    return found
