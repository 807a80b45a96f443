"""Our agent inside the official framework, safe against what is known to go wrong there.

A shim of three lines in the framework's ``agents/`` folder makes it known (docs/arc.md):

    from agents.agent import Agent
    from sysone.arc.framework import adapter
    QwenJevAgent = adapter(Agent)

What the adapter takes care of, each held by a test:

* ``MAX_ACTIONS`` is 80 unless set, and the loop's ``<=`` makes one more of it;
* ``frames[-1]`` is at first an empty frame that nobody sent: no reason for a RESET;
* an answer of None raises in the framework's conversion and would end the game;
* ``frames`` grows without limit;
* frames are recorded without the action that led to them, so that nothing could be played back;
* ``GameAction`` members are shared by the threads of all agents: between filling one and its use
  another thread can fill it anew, so the adapter sends the id and cell that it chose itself.
"""

import sys
import time
from typing import Any, Final

from sysone.arc.actions import RESET_ID, Action
from sysone.arc.config import Config
from sysone.arc.decide import StepRecord
from sysone.arc.frame import WIN, frame_of
from sysone.arc.jobs import Job, Options, make_player
from sysone.arc.models import Wanted, choose_models, trouble
from sysone_core import grids

MAX_ACTIONS: Final = 2000
TIME_LIMIT_S: Final = 900.0
KEPT_FRAMES: Final = 4
RETRIES: Final = 2
RETRY_WAIT_S: Final = 0.2


def adapter(
    base: type[Any],
    *,
    policy: str = "",
    system1: str = "",
    system1_model: str = "",
    checkpoint: str = "",
    system2: str = "",
    config: Config | None = None,
    seed: int = 0,
    max_actions: int = MAX_ACTIONS,
    time_limit_s: float = TIME_LIMIT_S,
) -> type[Any]:
    """A subclass of the framework's ``Agent`` that plays with our agent.

    Args:
        base: ``agents.agent.Agent``.
        policy: hybrid, system1, heuristic or random; empty: hybrid with the shipped model, or the
            heuristic where PyTorch is missing, which is said on stderr.
        system1: address of a System One endpoint, or ``embedded``, which decides then; one for
            all games.
        system1_model: its name there.
        checkpoint: a trained System-1, a folder or ``hf:owner/name``.
        system2: address of a large model, or ``transformers:MODEL``.
        config: settings of both models; what is an argument too has the argument's value.
        seed: of the policy.
        max_actions: the most a game may take, resets included.
        time_limit_s: seconds of a game, from its first decision.
    """
    actions_limit = max_actions
    settings = config or Config()
    wanted = Wanted(
        policy=policy,
        checkpoint=checkpoint,
        system1=system1,
        system1_model=system1_model,
        system2=system2,
    )
    models = choose_models(wanted, settings)
    reason = models.note or trouble(models)
    if reason:
        print(f"sysone arc: {reason}; the heuristic plays", file=sys.stderr)
    options = Options([], "", policy=models.policy, models=models, settings=settings)
    grids.warm()  # nothing compiles within a game's time

    class QwenJevAgent(base):  # type: ignore[misc]
        """Plays with `sysone.arc.decide.Agent`."""

        # The framework plays while the counter is at most this.
        MAX_ACTIONS = max_actions - 1

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.player = make_player(Job("", seed, options, models.policy, time_limit_s))
            self.no_answers = 0
            self._chosen: tuple[Action, StepRecord] | None = None
            self._begun_s: float | None = None
            self._taken = 0

        def is_done(self, frames: list[Any], latest_frame: Any) -> bool:
            """Won, given up, or out of actions or time; GAME_OVER is none of these."""
            late = self._begun_s is not None and time.monotonic() - self._begun_s >= time_limit_s
            won = str(getattr(latest_frame.state, "value", latest_frame.state)) == WIN
            return won or late or self._taken >= actions_limit or self.player.done

        def choose_action(self, frames: list[Any], latest_frame: Any) -> Any:
            """The agent's action, also written into the shared member, for recordings."""
            if self._begun_s is None:
                self._begun_s = time.monotonic()
                self.player.begin(frame_of(latest_frame))
            action, record = self.player.decide()
            self._chosen = (action, record)
            member = _members()[action.id]
            member.set_data({"game_id": self.game_id, **action.data})
            member.reasoning = reasoning_of(record)
            return member

        def do_action_request(self, action: Any) -> Any:
            """Send what was chosen, whatever other threads made of the shared member since."""
            if self._chosen is None:
                return super().do_action_request(action)
            (chosen, record), self._chosen = self._chosen, None
            self._taken += 1
            raw = None
            for attempt in range(1 + RETRIES):
                raw = self._send(chosen, record)
                if raw is not None:
                    break
                self.no_answers += 1
                # A game on this machine that raised will raise again: only a line may recover.
                if not hasattr(self.arc_env, "base_url"):
                    break
                time.sleep(RETRY_WAIT_S * (attempt + 1))
            self.player.note(chosen, frame_of(raw))
            return self._with_action(self._convert_raw_frame_data(raw), chosen, record)

        @staticmethod
        def _with_action(frame: Any, chosen: Action, record: StepRecord) -> Any:
            """The frame with what led to it, which the framework's conversion leaves out.

            A recording without it cannot be played back.
            """
            from arcengine import ActionInput

            frame.action_input = ActionInput(
                id=_members()[chosen.id], data=chosen.data, reasoning=reasoning_of(record)
            )
            return frame

        def _send(self, chosen: Action, record: StepRecord) -> Any:
            try:
                if chosen.id == RESET_ID:
                    return self.arc_env.reset()
                data = {"game_id": self.game_id, **chosen.data}
                return self.arc_env.step(
                    _members()[chosen.id], data=data, reasoning=reasoning_of(record)
                )
            except Exception:
                self.player.errors["request"] += 1
                return None

        def _convert_raw_frame_data(self, raw: Any) -> Any:
            """The framework's conversion; of no answer a frame without pictures."""
            if raw is not None:
                return super()._convert_raw_frame_data(raw)
            from arcengine import FrameData, GameState

            seen = self.player.observation
            if seen is None:
                return FrameData(levels_completed=0, win_levels=0)
            return FrameData(
                game_id=self.game_id,
                state=GameState(seen.state),
                levels_completed=seen.levels_completed,
                win_levels=seen.win_levels,
                available_actions=list(seen.available_actions),
            )

        def append_frame(self, frame: Any) -> None:
            """As the framework does it, but only the newest frames are kept."""
            super().append_frame(frame)
            del self.frames[:-KEPT_FRAMES]

    return QwenJevAgent


def reasoning_of(record: StepRecord) -> dict[str, Any]:
    """What is sent along with an action: JSON, far below the 16 KB that the engine allows."""
    return {
        "source": record.source,
        "top": [[text, round(p, 4)] for text, p in record.top[:3]],
        "reason": record.reason[:200],
    }


def _members() -> dict[int, Any]:
    from arcengine import GameAction

    return {member.value: member for member in GameAction}
