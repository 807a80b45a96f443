"""Many matches on threads without Python in between: arrays in, arrays out.

    fast = FastVector(64, threads=2, season="2027", duration=60, opponent="rush", action_repeat=10)
    fast.reset(seeds=range(64))
    fast.move[:, 0] = ...          # [envs][rows][2], as if every side were red
    fast.step()
    fast.own, fast.globals, fast.rewards, fast.terminated

What the columns mean is in `sysone.arena.sdk.arrays`, whose `Arrays` makes the same of what a
strategy observes. For the same actions the digests are those of `ArenaEnv`.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from sysone.arena.engine import MOST_SEED, TEAMS, Game
from sysone.arena.envs.options import EnvOptions, resolve
from sysone.arena.envs.world import seed_of
from sysone.arena.errors import ArenaError
from sysone.arena.rules.book import Book
from sysone.arena.sdk.arrays import ROWS
from sysone_core import arena as core

Autoreset = Literal["disabled", "next_step", "same_step"]
Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

BOTS: Final = ("hold", "rush", "random")
"""Opponents without Python; hold and rush decide as the bundled strategies of these names."""
WISHES: Final = ("move", "spin", "fire", "aim", "order", "go")
SEEN: Final = ("own", "mates", "enemies", "globals")


class FastVector:
    """Environments of one kind, stepped together.

    Args:
        num_envs: How many.
        threads: Threads that step them; results do not depend on it.
        opponent: ``hold``, ``rush``, ``random``, or None: then arrays drive both sides.
        learner: The side that arrays drive when there is an opponent.
        autoreset: What happens to an environment whose episode ended: it rests until it is reset
            (``disabled``), the next step begins an episode and does nothing else (``next_step``),
            or the same step does, and `final` has what was seen last (``same_step``). Seeds go up
            by the number of environments.
        digests: Whether tick digests are made, about a tenth of the time.
        scenario: Of every episode.
        options: ``season``, ``map``, ``duration``, ``settings``, ``lineup``, ``lineups``,
            ``action_repeat``, ``reward``, ``score_scale`` and ``max_steps``, as in `EnvOptions`.

    Attributes:
        own, mates, enemies, globals: What each side sees, float32 [envs][2][rows][48, 24, 16] and
            [envs][2][40]; red first. Of a side that an opponent drives they stay 0.
        move, spin, fire, aim, order, go: What arrays-driven sides do in the next step, float32
            [envs][2][rows][2] and [envs][2][rows], int32 [envs][2][rows]. They stay as they are
            until they are written again. A ``go`` above 0 steers to one of `GOALS` in the place
            of ``move``, anew at every decision however long a step is.
        rewards: float32 [envs][2].
        terminated, truncated, began: uint8 [envs]; ``began``: the step or reset began an episode.
        winner: int32 [envs], -1 none or a draw, 0 red, 1 blue, of the episode that ended last.
        ticks: int32 [envs]. seeds: uint64 [envs], of the episodes.

    Raises:
        ArenaError: an argument is wrong; the text names it.
        ScenarioError: the scenario cannot be applied.
    """

    def __init__(
        self,
        num_envs: int,
        threads: int = 1,
        *,
        opponent: str | None = None,
        learner: str = "red",
        autoreset: Autoreset = "disabled",
        digests: bool = True,
        scenario: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        for name, value in (("num_envs", num_envs), ("threads", threads)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ArenaError("usage", f"{name} must be at least 1, not {value!r}")
        if opponent is not None and opponent not in BOTS:
            raise ArenaError("usage", f"opponent must be one of {BOTS}, not {opponent!r}")
        if autoreset not in ("disabled", "next_step", "same_step"):
            raise ArenaError(
                "usage", f"autoreset must be disabled, next_step or same_step, not {autoreset!r}"
            )
        self.plan = resolve(EnvOptions.of({"learner": learner, **options}))
        given = self.plan.options
        self.num_envs, self.threads = num_envs, threads
        self.autoreset: Autoreset = autoreset
        self.opponent = opponent
        self.rows = max(ROWS[self.plan.season], *map(len, self.plan.lineups.values()))
        self.aims = self.rows + 4
        self.orders = core.ORDERS
        self.arrays = self._arrays()
        self.book = Book.of(self.plan.season, given.settings)
        setup = self.plan.setup(0, scenario)
        Game(setup)  # which says what is wrong with settings, line-ups or scenario
        bots = dict.fromkeys(TEAMS, "none")
        if opponent is not None:
            bots[self.plan.other] = opponent
        self._core = core.SimBatch(
            self.book.compiled,
            sorted(self.plan.lineups["red"].items()),
            sorted(self.plan.lineups["blue"].items()),
            self.arrays,
            envs=num_envs,
            threads=threads,
            rows=self.rows,
            duration_ticks=setup.ticks(self.book),
            deck=self.plan.mode == "deck",
            action_repeat=given.action_repeat,
            max_steps=given.max_steps or 0,
            score=given.reward == "score",
            score_scale=given.score_scale,
            autoreset=autoreset,
            digests=digests,
            bots=(bots["red"], bots["blue"]),
            driven=(bots["red"] == "none", bots["blue"] == "none"),
            scenario="" if scenario is None else json.dumps(scenario),
        )
        self.seeds[:] = np.arange(num_envs, dtype=np.uint64)
        self._fresh = True

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        envs, rows = self.num_envs, self.rows
        columns = {
            "own": (rows, core.OWN_COLUMNS),
            "mates": (rows, core.MATE_COLUMNS),
            "enemies": (rows, core.ENEMY_COLUMNS),
            "globals": (core.GLOBAL_COLUMNS,),
        }
        arrays: dict[str, npt.NDArray[Any]] = {
            name: np.zeros((envs, 2, *shape), np.float32) for name, shape in columns.items()
        }
        if self.autoreset == "same_step":
            arrays |= {f"final_{name}": arrays[name].copy() for name in columns}
        arrays["move"] = np.zeros((envs, 2, rows, 2), np.float32)
        arrays["spin"] = np.zeros((envs, 2, rows), np.float32)
        for name in ("go", "fire", "aim", "order"):
            arrays[name] = np.zeros((envs, 2, rows), np.int32)
        arrays["rewards"] = np.zeros((envs, 2), np.float32)
        for name in ("terminated", "truncated", "began"):
            arrays[name] = np.zeros(envs, np.uint8)
        for name in ("winner", "ticks"):
            arrays[name] = np.zeros(envs, np.int32)
        arrays["seeds"] = np.zeros(envs, np.uint64)
        self.own: Floats = arrays["own"]
        self.mates: Floats = arrays["mates"]
        self.enemies: Floats = arrays["enemies"]
        self.globals: Floats = arrays["globals"]
        self.move: Floats = arrays["move"]
        self.spin: Floats = arrays["spin"]
        self.go: Integers = arrays["go"]
        self.fire: Integers = arrays["fire"]
        self.aim: Integers = arrays["aim"]
        self.order: Integers = arrays["order"]
        self.rewards: Floats = arrays["rewards"]
        self.terminated: Bytes = arrays["terminated"]
        self.truncated: Bytes = arrays["truncated"]
        self.began: Bytes = arrays["began"]
        self.winner: Integers = arrays["winner"]
        self.ticks: Integers = arrays["ticks"]
        self.seeds: npt.NDArray[np.uint64] = arrays["seeds"]
        return arrays

    @property
    def final(self) -> dict[str, Floats]:
        """What was seen last of the episodes that ended in this step, with ``same_step``."""
        return {name: self.arrays[f"final_{name}"] for name in SEEN}

    def reset(
        self, seeds: Iterable[int] | None = None, env_ids: Sequence[int] | None = None
    ) -> None:
        """Begin episodes; the other environments are left alone.

        Without seeds the first episodes have 0, 1, …, and each next one of an environment the one
        before plus the number of environments.

        Raises:
            ArenaError: seeds or env_ids are wrong.
        """
        chosen = list(range(self.num_envs)) if env_ids is None else [int(k) for k in env_ids]
        if len(set(chosen)) != len(chosen) or any(not 0 <= k < self.num_envs for k in chosen):
            raise ArenaError(
                "usage", f"env_ids must be from 0 to {self.num_envs - 1}, each once, not {chosen}"
            )
        if seeds is not None:
            given = [seed_of(int(seed)) for seed in seeds]
            if len(given) != len(chosen):
                raise ArenaError("usage", f"{len(chosen)} seeds are needed, not {len(given)}")
        else:
            first = self._fresh
            given = [
                (int(self.seeds[k]) + (0 if first else self.num_envs)) % (MOST_SEED + 1)
                for k in chosen
            ]
        self._fresh = False
        self.seeds[chosen] = np.array(given, np.uint64)
        self._core.reset(chosen)

    def step(self) -> None:
        """Advance every environment by ``action_repeat`` ticks; ended ones as `autoreset` says.

        Raises:
            ArenaError: nothing was reset before.
        """
        if self._fresh:
            raise ArenaError("not_reset", "the environments need a reset")
        self._core.step()

    def digest(self, env: int, *, last: bool = False) -> str:
        """The digest of an environment's match so far; ``last``: of its episode before."""
        return hashlib.sha256(self._core.digests(env, last)).hexdigest()

    def observation(self, env: int, team: int) -> dict[str, Any]:
        """What a strategy would be told, for looking at single moments."""
        seen: dict[str, Any] = json.loads(self._core.observe(env, team))
        return seen

    def order_mask(self, team: int) -> npt.NDArray[np.bool_]:
        """Which orders each row's kind of robot can be given: [rows][orders]."""
        return np.array(
            [
                [self._core.can(team, row, order) for order in range(self.orders)]
                for row in range(self.rows)
            ]
        )
