"""The official framework's contract, for tests: its loop, its threads and their traps.

Written from the framework's contract; the same tests run against its own base class where
ARC_FRAMEWORK_DIR names a checkout.
"""

import threading
from typing import Any

from arcengine import FrameData


class Agent:
    MAX_ACTIONS = 80

    def __init__(
        self,
        card_id: str,
        game_id: str,
        agent_name: str,
        ROOT_URL: str,  # noqa: N803
        record: bool,
        arc_env: Any,
        tags: list[str] | None = None,
    ) -> None:
        self.card_id, self.game_id, self.agent_name = card_id, game_id, agent_name
        self.arc_env = arc_env
        self.tags = tags or []
        self.frames = [FrameData(levels_completed=0)]
        self.action_counter = 0

    def main(self) -> None:
        while (
            not self.is_done(self.frames, self.frames[-1])
            and self.action_counter <= self.MAX_ACTIONS
        ):
            latest = self._convert_raw_frame_data(self.arc_env.observation_space)
            action = self.choose_action(self.frames, latest)
            self.append_frame(FrameData.model_validate(self.do_action_request(action)))
            self.action_counter += 1

    def append_frame(self, frame: FrameData) -> None:
        self.frames.append(frame)

    def do_action_request(self, action: Any) -> FrameData:
        data = action.action_data.model_dump()
        raw = self.arc_env.step(action, data=data, reasoning=getattr(action, "reasoning", {}))
        return self._convert_raw_frame_data(raw)

    def _convert_raw_frame_data(self, raw: Any) -> FrameData:
        if raw is None:
            raise ValueError("no frame data")
        return FrameData(
            game_id=raw.game_id,
            frame=[picture.tolist() for picture in raw.frame],
            state=raw.state,
            levels_completed=raw.levels_completed,
            win_levels=raw.win_levels,
            guid=raw.guid,
            full_reset=raw.full_reset,
            available_actions=raw.available_actions,
        )

    def is_done(self, frames: list[FrameData], latest_frame: FrameData) -> bool:
        raise NotImplementedError

    def choose_action(self, frames: list[FrameData], latest_frame: FrameData) -> Any:
        raise NotImplementedError


def swarm(agent_class: type[Agent], arcade: Any, games: list[str]) -> tuple[list[Any], Any]:
    """All agents are made first and then run in threads; the scorecard is closed at the end."""
    card_id = arcade.open_scorecard(tags=["test"])
    agents = [
        agent_class(
            card_id=card_id,
            game_id=game,
            agent_name=agent_class.__name__.lower(),
            ROOT_URL="",
            record=False,
            arc_env=arcade.make(game, scorecard_id=card_id),
        )
        for game in games
    ]
    threads = [threading.Thread(target=agent.main, daemon=True) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return agents, arcade.close_scorecard(card_id)
