"""One environment: a match that is reset and stepped, with rewards and what a learner may know."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from sysone.arena.engine import HOLD, MOST_SEED, TEAMS, TICKS_PER_DECISION, Game, Team, static
from sysone.arena.envs.opponent import Opponent
from sysone.arena.envs.options import EnvPlan
from sysone.arena.errors import ActionError, ArenaError
from sysone.arena.isolation import Isolation
from sysone.arena.record import CONTINUOUS, Recorder, assemble, has_orders, write
from sysone.arena.rules.book import Book

_MOST_JSON_INTEGER = 2**53 - 1


def seed_of(value: Any) -> int:
    """A seed as requests give it: a whole number, or a decimal string.

    Raises:
        ArenaError: it is none.
    """
    expected = f"seed must be a whole number from 0 to 2^64 - 1, not {value!r}"
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        # int() refuses digits by the thousand; leading zeros change nothing.
        value = int(value.lstrip("0")[:21] or "0")
    elif isinstance(value, bool) or not isinstance(value, int):
        raise ArenaError("bad_type", expected)
    if not 0 <= value <= MOST_SEED:
        raise ArenaError("out_of_range", expected)
    return int(value)


class World:
    """A match at a time in this process; what a step does not say holds.

    ``isolation`` is needed with an opponent alone.
    """

    def __init__(self, plan: EnvPlan, env_id: int, isolation: Isolation | None) -> None:
        self.plan = plan
        self.env_id = env_id
        self._game: Game | None = None
        self._static = msgspec.json.encode(static(Book.of(plan.season, plan.options.settings)))
        self._opponent = None if isolation is None else Opponent(plan, isolation)
        self._spool: IO[bytes] | None = None
        self._recorder: Recorder | None = None
        self._episode = -1
        self._steps = 0
        self._score = (0, 0)
        self._state: dict[str, Any] | None = None
        self._over = False

    def reset(self, seed: int, scenario: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Begin an episode; returns its first state, observations as JSON texts.

        Raises:
            ArenaError: the scenario cannot be applied, or the opponent does not start. The
                environment then needs another reset.
        """
        self._state = None
        game = self._game
        if game is None:
            game = self._game = Game(self.plan.setup(0))
        game.reset(seed, scenario)
        if self._opponent is not None:
            self._opponent.begin(game)
        self._recorder = None
        if self.plan.options.record:
            if self._spool is not None:
                self._spool.close()
            self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - over the episode
            self._recorder = Recorder(game, self._about(), self._spool)
        self._episode += 1
        self._steps = 0
        self._over = False
        self._score = game.core.score()
        self._state = self._describe(game, {}, [], first=True)
        return self._state

    def step(self, actions: Mapping[Team, bytes]) -> dict[str, Any]:
        """Advance by the actions of the sides, JSON texts.

        Raises:
            ActionError: an action is refused; nothing has advanced.
            ArenaError: there is no episode, or it is over.
        """
        game = self._playing()
        for side, action in actions.items():
            if self._opponent is not None and side == self.plan.other:
                if action.strip() != HOLD:
                    raise ActionError("side_not_controlled", "", side)
                continue
            refused = game.act(side, action)
            if refused is not None:
                game.core.drop_actions()
                raise ActionError(refused.code, refused.path, side)
        given = {side: actions.get(side, HOLD) for side in TEAMS}
        events: list[bytes] = []
        for tick in range(0, self.plan.options.action_repeat, TICKS_PER_DECISION):
            if tick == TICKS_PER_DECISION:
                given = {side: kept(action) for side, action in given.items()}
            if tick and not game.ended:
                for side, action in given.items():
                    game.act(side, action)
            if game.ended:
                break
            self._decide(game, given, events)
        self._steps += 1
        rewards = self._rewards(game)
        self._state = self._describe(game, rewards, events)
        return self._state

    def _decide(self, game: Game, given: Mapping[Team, bytes], events: list[bytes]) -> None:
        applied = dict(given)
        if self._opponent is not None:
            other = self.plan.other
            applied[other], error = self._opponent.decide(game)
            if error is not None and self._recorder is not None:
                self._recorder.refused(other, error)
        if self._recorder is not None:
            for side in TEAMS:
                self._recorder.acted(side, applied[side])
        digests = game.advance()
        found = game.core.events_json()
        if found != "[]":
            events.append(found[1:-1].encode())
        if self._recorder is not None:
            self._recorder.advanced(digests)

    def observe(self) -> dict[str, Any]:
        """The last state again.

        Raises:
            ArenaError: there is none.
        """
        if self._state is None:
            raise ArenaError("not_reset", "the environment needs a reset")
        return self._state

    def save_replay(self, path: Path) -> dict[str, Any]:
        """Write the episode's replay, also of one that is not over.

        Raises:
            ArenaError: nothing is recorded, or the file cannot be written.
        """
        if self._recorder is None or self._spool is None or self._game is None:
            raise ArenaError("not_recorded", "save_replay needs record and a reset")
        # the recording goes on behind the end that is written here for now
        place = self._spool.tell()
        self._recorder.finish()
        try:
            replay = assemble(self._spool)
        finally:
            self._spool.seek(place)
            self._spool.truncate()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, replay)
        except OSError as error:
            raise ArenaError("io", f"{path}: {error.strerror}") from error
        return {"path": str(path), "ticks": self._game.tick, "digest": self._game.digest}

    def close(self) -> None:
        """End the opponent, and forget what was recorded."""
        if self._opponent is not None:
            self._opponent.close()
        if self._spool is not None:
            self._spool.close()

    def _playing(self) -> Game:
        if self._game is None or self._state is None:
            raise ArenaError("not_reset", "the environment needs a reset")
        if self._over:
            raise ArenaError("episode_over", "the episode is over; reset begins another one")
        return self._game

    def _rewards(self, game: Game) -> dict[Team, float]:
        """Zero-sum: the outcome at the end, and the change of attack damage where asked for."""
        red = 0.0
        if self.plan.options.reward == "score":
            before, self._score = self._score, game.core.score()
            gained = [now - then for now, then in zip(self._score, before, strict=True)]
            red += self.plan.options.score_scale * (gained[0] - gained[1])
        if game.ended:
            red += (1.0, -1.0)[game.core.winner] if game.core.winner >= 0 else 0.0
        return {"red": red, "blue": -red if red else 0.0}

    def _describe(
        self,
        game: Game,
        rewards: Mapping[Team, float],
        events: list[bytes],
        *,
        first: bool = False,
    ) -> dict[str, Any]:
        options = self.plan.options
        truncated = (
            options.max_steps is not None and self._steps >= options.max_steps and not game.ended
        )
        self._over = game.ended or truncated
        observations: dict[Team, msgspec.Raw | None] = {}
        for side in TEAMS:
            if self._opponent is not None and side == self.plan.other:
                observations[side] = None
                continue
            text = game.observe(side)
            if first or not options.compact:
                text = text[:-1] + b',"static":' + self._static + b"}"
            observations[side] = msgspec.Raw(text)
        seed = game.setup.seed
        info: dict[str, Any] = {
            "seed": seed if seed <= _MOST_JSON_INTEGER else str(seed),
            "episode": self._episode,
            "tick": game.tick,
            "events": msgspec.Raw(b"[" + b",".join(events) + b"]"),
            "winner": TEAMS[game.core.winner] if game.core.winner >= 0 else None,
            "reason": game.core.reason if game.ended else None,
            "strategy_errors": {
                side: self._opponent.errors
                if self._opponent is not None and side == self.plan.other
                else {}
                for side in TEAMS
            },
            "fingerprints": game.book.fingerprints,
            "test": game.setup.scenario is not None,
            "worker_pid": os.getpid(),
            "sim_pid": os.getpid(),
        }
        if self._over:
            info["digest"] = game.digest
        if options.full_state:
            info["state"] = {"privileged": True, **game.state()}
        return {
            "env_id": self.env_id,
            "observations": observations,
            "rewards": {side: rewards.get(side, 0.0) for side in TEAMS},
            "terminated": game.ended,
            "truncated": truncated,
            "info": info,
        }

    def _about(self) -> dict[str, Any]:
        learner: dict[str, Any] = {"key": "learner", "version": "", "version_hash": ""}
        strategies = dict.fromkeys(TEAMS, learner)
        if self._opponent is not None:
            strategies[self.plan.other] = self._opponent.report()
        return {
            "swapped": False,
            "control": dict.fromkeys(TEAMS, "team"),
            "strategies": strategies,
        }


def kept(action: bytes) -> bytes:
    """What stays in force of an action after its first decision: all but its orders."""
    if action == HOLD or not has_orders(action):
        return action
    robots = msgspec.json.decode(action, type=dict[str, dict[str, msgspec.Raw]])
    return msgspec.json.encode(
        {
            slot: {key: value for key, value in robot.items() if key in CONTINUOUS}
            for slot, robot in robots.items()
            if slot != "team"
        }
    )


def decoded(state: Mapping[str, Any]) -> dict[str, Any]:
    """A state with its JSON texts read."""
    whole: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(state))
    return whole
