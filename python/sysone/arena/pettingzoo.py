"""PettingZoo: every robot an agent, in the Parallel API.

    from rmuc_arena.pettingzoo import parallel_env
    env = parallel_env(season="2027", duration=60, action_repeat=10)

Needs the extra ``arena`` (pettingzoo).
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces as kinds
from pettingzoo import ParallelEnv

from sysone.arena import spaces
from sysone.arena.engine import TEAMS
from sysone.arena.errors import ArenaError
from sysone.arena.fast import FastVector

Seen = dict[str, npt.NDArray[np.float32]]


def parallel_env(**options: Any) -> "ArenaParallelEnv":
    """`ArenaParallelEnv`."""
    return ArenaParallelEnv(**options)


class ArenaParallelEnv(ParallelEnv[str, Seen, dict[str, Any]]):  # type: ignore[misc]
    """A match; agents are robots' ids, ``red-3``.

    Without an opponent the robots of both sides are agents, else those of the learner's side. Dead
    robots stay agents, as they may revive. Every robot of a side gets the side's reward.

    Args:
        options: As for `FastVector`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo's own form
        "name": "rmuc_arena_v1",
        "render_modes": [],
        "is_parallelizable": True,
    }

    def __init__(self, **options: Any) -> None:
        self.fast = FastVector(1, 1, **options)
        plan = self.fast.plan
        self._rows = {
            f"{side}-{slot}": (team, row)
            for team, side in enumerate(TEAMS)
            if self.fast.opponent is None or side == plan.learner
            for row, slot in enumerate(sorted(plan.lineups[side]))
        }
        self.possible_agents = list(self._rows)
        self.agents: list[str] = []
        self.render_mode = None
        self._observations = {
            agent: spaces.robot_observation(self.fast) for agent in self.possible_agents
        }
        self._actions = {agent: spaces.robot_action(self.fast) for agent in self.possible_agents}
        self._masks = {
            agent: self.fast.order_mask(team)[row] for agent, (team, row) in self._rows.items()
        }
        width = 2 * sum(
            getattr(self.fast, name)[0, 0].size for name in ("mates", "enemies", "globals")
        )
        self.state_space = kinds.Box(-1.0, 1.0, (width,), np.float32)

    def observation_space(self, agent: str) -> kinds.Dict:
        """What an agent sees."""
        return self._observations[agent]

    def action_space(self, agent: str) -> kinds.Dict:
        """What an agent does."""
        return self._actions[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, dict[str, Any]]]:
        """Begin a match; without a seed with the one after the last."""
        self.fast.reset(None if seed is None else [seed])
        self.agents = list(self.possible_agents)
        return self._seen(), self._infos()

    def step(
        self, actions: dict[str, dict[str, Any]]
    ) -> tuple[
        dict[str, Seen],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Advance; an agent without an action holds.

        Raises:
            ArenaError: an action is of no agent.
        """
        if not self.agents:
            return {}, {}, {}, {}, {}
        fast = self.fast
        for name in ("move", "spin", "fire", "aim", "order"):
            getattr(fast, name)[:] = 0
        for agent, action in actions.items():
            if agent not in self._rows:
                raise ArenaError("usage", f"{agent!r} is no agent; there are {self.agents}")
            team, row = self._rows[agent]
            fast.move[0, team, row] = action["move"]
            fast.spin[0, team, row] = np.asarray(action["spin"]).item()
            for name in ("fire", "aim", "order"):
                getattr(fast, name)[0, team, row] = int(action[name])
        fast.step()
        terminated, truncated = bool(fast.terminated[0]), bool(fast.truncated[0])
        results = (
            self._seen(),
            {agent: float(fast.rewards[0, self._rows[agent][0]]) for agent in self.agents},
            dict.fromkeys(self.agents, terminated),
            dict.fromkeys(self.agents, truncated),
            self._infos(),
        )
        if terminated or truncated:
            self.agents = []
        return results

    def state(self) -> npt.NDArray[np.float32]:
        """Both sides' views, flat; what no agent sees is left at 0."""
        parts = [
            getattr(self.fast, name)[0, team].ravel()
            for team in (0, 1)
            for name in ("mates", "enemies", "globals")
        ]
        return np.concatenate(parts)

    def digest(self) -> str:
        """The digest of the match so far."""
        return self.fast.digest(0)

    def close(self) -> None:
        """Nothing is held."""

    def _seen(self) -> dict[str, Seen]:
        fast = self.fast
        return {
            agent: {
                "own": fast.own[0, team, row].copy(),
                "mates": fast.mates[0, team].copy(),
                "enemies": fast.enemies[0, team].copy(),
                "globals": fast.globals[0, team].copy(),
            }
            for agent, (team, row) in self._rows.items()
            if agent in self.agents
        }

    def _infos(self) -> dict[str, dict[str, Any]]:
        return {
            agent: {"order_mask": self._masks[agent].copy(), "tick": int(self.fast.ticks[0])}
            for agent in self.agents
        }
