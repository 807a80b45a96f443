"""Looking at games: colour blocks, traces and masks."""

import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from sysone.arc.actions import RESET, Action, click, simple
from sysone.arc.decide import Agent, StepRecord
from sysone.arc.env import Env, step_env
from sysone.arc.frame import GAME_OVER, WIN, Frame
from sysone.arc.hud import published_rule
from sysone.arc.play import Limits, Player, play_game
from sysone.arc.policy import RandomPolicy
from sysone.arc.show import blocks, plain
from sysone.runs.errors import RunError


class ByHand:
    """A player at the keyboard."""

    def __init__(self) -> None:
        self._quit = False

    @property
    def done(self) -> bool:
        """Whether q was typed."""
        return self._quit

    def begin(self, frame: Frame | None) -> None:
        """Nothing to prepare."""

    def note(self, action: Action, frame: Frame | None) -> None:
        """The picture is shown by the loop."""

    def decide(self) -> tuple[Action, StepRecord]:
        """Ask until something is understood; the end of the input ends the game.

        Raises:
            RunError: the input has ended.
        """
        while True:
            sys.stderr.write("action (1-5, 7, 6 X Y, r, q): ")
            sys.stderr.flush()
            line = sys.stdin.readline()
            words = line.split()
            if not line or words == ["q"]:
                self._quit = True
                raise RunError("ended by hand")
            if words == ["r"]:
                return RESET, StepRecord("hand")
            if len(words) == 1 and words[0] in tuple("123457"):
                return simple(int(words[0])), StepRecord("hand")
            if (
                len(words) == 3
                and words[0] == "6"
                and words[1].isdecimal()
                and words[2].isdecimal()
            ):
                return click(int(words[1]), int(words[2])), StepRecord("hand")


def _last(frame: Frame) -> Any:
    return np.asarray(frame.frame[-1]).astype(np.uint8)


def watch(
    env: Env, player: Player, max_actions: int, every: int, delay_s: float, colour: bool
) -> dict[str, Any]:
    """Play on stdout; the game's row."""
    draw = blocks if colour else plain
    steps = 0

    def show(action: Action | None, record: StepRecord | None, frame: Frame | None) -> None:
        nonlocal steps
        steps += 1
        if frame is None or (steps % every and frame.state not in (WIN, GAME_OVER)):
            return
        if len(frame.frame):
            print(draw(_last(frame)))
        what = "start" if action is None else f"{action.text} ({record.source if record else ''})"
        print(
            f"{env.game_id} {steps - 1}: {what}, "
            f"level {frame.levels_completed}/{frame.win_levels}, {frame.state}",
            flush=True,
        )
        time.sleep(delay_s)

    show(None, None, env.first())
    played = play_game(env, player, Limits(max_actions, float("inf")), on_step=show)
    return played.row()


def trace_lines(env: Env, agent: Agent, max_actions: int) -> Iterator[str]:
    """One line an action."""
    agent.begin(env.first())
    for step in range(max_actions):
        if agent.done:
            return
        action, record = agent.decide()
        noted = agent.note(action, step_env(env, action))
        seen = agent.observation
        if seen is None or noted is None:
            yield f"{step:4d} {action.text:<18} {record.source:<9} no picture"
            continue
        moves = " ".join(f"moved x{move.dx:+d} y{move.dy:+d}" for move in noted.moves[:2])
        yield (
            f"{step:4d} {action.text:<18} {record.source:<9} level {seen.levels_completed} "
            f"{noted.kind:<8} {'new ' if noted.novel else 'seen'} {seen.n_changed:4d} cells "
            f"{seen.n_frames:2d} frames {seen.masked_hash:016x} {seen.state} {moves}".rstrip()
        )


def mask_lines(env: Env, actions: int, seed: int) -> Iterator[str]:
    """The mask after so many random actions, with the published starting rule's count beside."""
    agent = Agent(RandomPolicy(seed))
    agent.begin(env.first())
    first = agent.observation
    if first is None:
        raise RunError(f"{env.game_id} shows no picture")
    starting = int(np.count_nonzero(first.mask))
    published = int(np.count_nonzero(published_rule(first.grid)))
    for _ in range(actions):
        if agent.done:
            break
        action, _ = agent.decide()
        agent.note(action, step_env(env, action))
    seen = agent.observation
    assert seen is not None
    yield plain(seen.grid, seen.mask)
    yield (
        f"{env.game_id}: {int(np.count_nonzero(seen.mask))} cells masked after {actions} actions, "
        f"{starting} at the start; the published starting rule masks {published}"
    )
    if agent.watcher.hud.dropped:
        yield "a mask of more than a quarter of the grid was dropped"
