"""Training environments for Python: one match in this process, or many in their own.

    env = ArenaEnv(season="2027", duration=30, compact=True)
    state = env.reset(seed=100)
    state = env.step({"red": {"3": {"move": [1, 0], "fire": True}}, "blue": {}})

Observations and actions are those of strategies. An ended environment stays as it is until it is
reset, with its last observation.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sysone.arena.envs.opponent import isolation_for
from sysone.arena.envs.options import EnvOptions, resolve
from sysone.arena.envs.requests import Requests, texts_of
from sysone.arena.envs.vector import Pool, StartError
from sysone.arena.envs.world import World, decoded, seed_of
from sysone.arena.errors import ActionError, ArenaError, ScenarioError

__all__ = [
    "ActionError",
    "ArenaEnv",
    "ArenaError",
    "ScenarioError",
    "VectorArena",
    "VectorEnvError",
]

Actions = Mapping[str, Mapping[str, Any]]
"""By side, by slot: ``{"red": {"3": {"fire": True}}}``; what is left out holds."""
State = dict[str, Any]


class VectorEnvError(ArenaError):
    """Some environments could not do what was asked; the others have.

    Attributes:
        responses: The whole response, with the states of those that could.
        errors: The error of each of the others, by env_id; empty when the request itself was wrong.
    """

    def __init__(self, response: dict[str, Any]) -> None:
        self.responses = response
        self.errors: dict[int, dict[str, Any]] = {
            row["env_id"]: row["error"] for row in response.get("results", []) if not row["ok"]
        }
        if "error" in response:
            code, text = response["error"]["code"], response["error"]["message"]
        else:
            code = next(iter(self.errors.values()))["code"]
            text = "; ".join(f"env {k}: {error['message']}" for k, error in self.errors.items())
        super().__init__(code, text)


class ArenaEnv:
    """One environment; the match is simulated in the calling process.

    Keyword arguments are the fields of `EnvOptions`. With an opponent, that strategy drives the
    other side than ``learner`` in a process of its own.

    Raises:
        ArenaError: an argument is wrong; the text names it.
        UnavailableError: the opponent's isolation does not work here.
    """

    def __init__(self, **options: Any) -> None:
        self.plan = resolve(EnvOptions.of(options))
        self._world = World(self.plan, 0, isolation_for(self.plan) if self.plan.opponent else None)
        self._next_seed = 0

    def reset(
        self, seed: int | str | None = None, scenario: Mapping[str, Any] | None = None
    ) -> State:
        """Begin an episode; without a seed that of the one before plus 1, at first 0.

        Raises:
            ArenaError: the seed is none, or the opponent does not start.
            ScenarioError: the scenario cannot be applied.
        """
        wanted = self._next_seed if seed is None else seed_of(seed)
        state = self._world.reset(wanted, scenario)
        self._next_seed = (wanted + 1) % 2**64
        return decoded(state)

    def step(self, actions: Actions) -> State:
        """Advance by ``action_repeat`` ticks.

        Raises:
            ActionError: an action is refused; nothing has advanced.
            ArenaError: ``episode_over``, or ``not_reset``.
        """
        return decoded(self._world.step(texts_of(actions)))

    def observe(self) -> State:
        """The last state again."""
        return decoded(self._world.observe())

    def save_replay(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Write the replay of the episode as far as it is; needs ``record=True``.

        Returns:
            Its ``path``, ``ticks`` and ``digest``.
        """
        return self._world.save_replay(Path(path))

    def close(self) -> None:
        """End the opponent."""
        self._world.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class VectorArena:
    """Several environments, each in a process of its own that is used over all its episodes.

    Args:
        num_envs: How many.
        rpc_timeout: Seconds of wall time after which an environment that does not answer is
            replaced; it then needs a reset, and the others know nothing of it.
        options: The fields of `EnvOptions`.

    Raises:
        ArenaError: an argument is wrong; the text names it.
        UnavailableError: the opponent's isolation does not work here.
    """

    def __init__(self, num_envs: int, *, rpc_timeout: float = 60.0, **options: Any) -> None:
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise ArenaError("usage", f"num_envs must be at least 1, not {num_envs!r}")
        if not isinstance(rpc_timeout, int | float) or not rpc_timeout > 0:
            raise ArenaError("usage", f"rpc_timeout must be above 0 seconds, not {rpc_timeout!r}")
        given = EnvOptions.of(options)
        self.plan = resolve(given)
        if self.plan.opponent is not None:
            isolation_for(self.plan)
        self.num_envs = num_envs
        try:
            self._pool = Pool(num_envs, given, rpc_timeout)
        except StartError as error:
            raise ArenaError(error.error["code"], error.error["message"]) from error
        self._requests = Requests(self.plan, self._pool)

    @property
    def info(self) -> dict[str, Any]:
        """What the protocol's ready line has."""
        return self._requests.ready()

    @property
    def pids(self) -> list[int]:
        """The environments' processes."""
        return [worker.process.pid for worker in self._pool.workers]

    def reset(
        self,
        seeds: Sequence[int | str] | None = None,
        env_ids: Sequence[int] | None = None,
        scenarios: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[State]:
        """Begin episodes, in the order of ``env_ids``; the others are left alone.

        Raises:
            VectorEnvError: some could not.
        """
        return self._states(
            {"op": "reset", "seeds": seeds, "env_ids": env_ids, "scenarios": scenarios}
        )

    def step(self, actions: Sequence[Actions], env_ids: Sequence[int] | None = None) -> list[State]:
        """Advance by ``action_repeat`` ticks.

        Raises:
            VectorEnvError: some could not.
        """
        return self._states({"op": "step", "actions": actions, "env_ids": env_ids})

    def observe(self, env_ids: Sequence[int] | None = None) -> list[State]:
        """The last states again.

        Raises:
            VectorEnvError: some have none.
        """
        return self._states({"op": "observe", "env_ids": env_ids})

    def save_replay(
        self, paths: Sequence[str | os.PathLike[str]], env_ids: Sequence[int] | None = None
    ) -> list[dict[str, Any]]:
        """Write the replays of episodes as far as they are; needs ``record=True``.

        Raises:
            VectorEnvError: some could not.
        """
        return self._states({"op": "save_replay", "paths": paths, "env_ids": env_ids})

    def request(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """A request of the protocol and its raw response; errors are in the response."""
        return self._requests.handle(request)

    def _states(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        if self._requests.closed:
            raise ArenaError("closed", "the environments are closed")
        response = self.request(request)
        if not response["ok"]:
            raise VectorEnvError(response)
        return [row["result"] for row in response["results"]]

    def close(self) -> None:
        """End all processes; again is harmless."""
        if not self._requests.closed:
            self.request({"op": "close"})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
