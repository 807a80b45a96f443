"""Gymnasium: one side against a built-in opponent, as a VectorEnv or a single Env.

    from rmuc_arena.gym import make_vec
    envs = make_vec(16, threads=2, opponent="rush", duration=60, action_repeat=10)

Needs the extra ``arena`` (gymnasium).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from sysone.arena import spaces
from sysone.arena.engine import TEAMS
from sysone.arena.errors import ArenaError
from sysone.arena.fast import SEEN, Autoreset, FastVector

Seen = dict[str, npt.NDArray[np.float32]]
Infos = dict[str, Any]
_MODES: Mapping[AutoresetMode, Autoreset] = {
    AutoresetMode.DISABLED: "disabled",
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
}


def make_vec(num_envs: int, **options: Any) -> "ArenaVectorEnv":
    """`ArenaVectorEnv`."""
    return ArenaVectorEnv(num_envs, **options)


def make(**options: Any) -> "ArenaGymEnv":
    """`ArenaGymEnv`."""
    return ArenaGymEnv(**options)


class ArenaVectorEnv(VectorEnv):
    """Many matches of one side against an opponent.

    Args:
        num_envs: How many.
        threads: Threads that step them.
        opponent: ``hold``, ``rush`` or ``random``.
        autoreset_mode: As Gymnasium has them. With SAME_STEP ``infos["final_obs"]`` has the last
            observation of what ended, and ``infos["final_info"]`` its info; with DISABLED
            ``reset(options={"reset_mask": …})`` resets some.
        options: As for `FastVector`.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own form

    def __init__(
        self,
        num_envs: int,
        *,
        threads: int = 1,
        opponent: str = "hold",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **options: Any,
    ) -> None:
        mode = AutoresetMode(autoreset_mode)
        if opponent is None:
            raise ArenaError("usage", "opponent must be given: a VectorEnv has one learner")
        self.fast = FastVector(
            num_envs, threads, opponent=opponent, autoreset=_MODES[mode], **options
        )
        self.team = TEAMS.index(self.fast.plan.learner)
        self.num_envs = num_envs
        self.metadata = {**self.metadata, "autoreset_mode": mode}
        self.single_observation_space = spaces.side_observation(self.fast)
        self.single_action_space = spaces.side_action(self.fast)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._mode = mode

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Seen, Infos]:
        """Begin episodes; ``seed`` is the first environment's, the others have the next ones."""
        chosen = np.ones(self.num_envs, np.bool_)
        if options is not None and "reset_mask" in options:
            mask = options["reset_mask"]
            if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or not mask.any():
                raise ArenaError(
                    "usage", f"reset_mask must be {self.num_envs} booleans, some true, not {mask!r}"
                )
            chosen = mask.astype(np.bool_)
        env_ids = np.flatnonzero(chosen).tolist()
        if seed is None:
            self.fast.reset(None, env_ids)
        elif isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
            self.fast.reset([int(seed) + k for k in env_ids], env_ids)
        else:
            if len(seed) != self.num_envs or any(one is None for one in seed):
                raise ArenaError("usage", f"seed must have {self.num_envs} numbers, not {seed!r}")
            self.fast.reset([int(seed[k] or 0) for k in env_ids], env_ids)
        return self._seen(), self._infos()

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[Seen, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], Infos]:
        """Advance all environments."""
        fast = self.fast
        if self._mode is AutoresetMode.DISABLED and (fast.terminated | fast.truncated).any():
            raise ArenaError(
                "episode_over", "some episodes are over; reset them with options reset_mask"
            )
        spaces.write_side(fast, self.team, actions)
        fast.step()
        infos = self._infos()
        ended = (fast.terminated | fast.truncated).astype(np.bool_)
        if self._mode is AutoresetMode.SAME_STEP and ended.any():
            final = {name: array[:, self.team] for name, array in fast.final.items()}
            for k in np.flatnonzero(ended):
                told = {
                    "final_obs": {name: array[k].copy() for name, array in final.items()},
                    "final_info": {
                        "winner": int(fast.winner[k]),
                        "digest": fast.digest(int(k), last=True),
                    },
                }
                infos = self._add_info(infos, told, int(k))
        return (
            self._seen(),
            fast.rewards[:, self.team].astype(np.float64),
            fast.terminated.astype(np.bool_),
            fast.truncated.astype(np.bool_),
            infos,
        )

    def _seen(self) -> Seen:
        return {name: getattr(self.fast, name)[:, self.team].copy() for name in SEEN}

    def _infos(self) -> Infos:
        every = np.ones(self.num_envs, np.bool_)
        return {
            "tick": self.fast.ticks.astype(np.int64),
            "_tick": every,
            "seed": self.fast.seeds.copy(),
            "_seed": every.copy(),
        }


class ArenaGymEnv(gymnasium.Env):
    """One match of one side against an opponent; options as for `ArenaVectorEnv`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own form

    def __init__(self, *, opponent: str = "hold", **options: Any) -> None:
        self.fast = FastVector(1, 1, opponent=opponent, **options)
        self.team = TEAMS.index(self.fast.plan.learner)
        self.observation_space = spaces.side_observation(self.fast)
        self.action_space = spaces.side_action(self.fast)
        self.render_mode = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, Infos]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.fast.reset(None if seed is None else [int(seed)])
        return self._seen(), self._info()

    def step(self, action: dict[str, Any]) -> tuple[Seen, float, bool, bool, Infos]:
        """Advance."""
        fast = self.fast
        spaces.write_side(fast, self.team, action)
        fast.step()
        return (
            self._seen(),
            float(fast.rewards[0, self.team]),
            bool(fast.terminated[0]),
            bool(fast.truncated[0]),
            self._info(),
        )

    def _seen(self) -> Seen:
        return {name: getattr(self.fast, name)[0, self.team].copy() for name in SEEN}

    def _info(self) -> Infos:
        info: Infos = {"tick": int(self.fast.ticks[0]), "seed": int(self.fast.seeds[0])}
        if self.fast.terminated[0]:
            info |= {"winner": int(self.fast.winner[0]), "digest": self.fast.digest(0)}
        return info
