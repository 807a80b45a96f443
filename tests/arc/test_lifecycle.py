"""RESET comes from the guard alone, and never where it would lose what was gained."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sysone.arc.actions import RESET, Action, simple
from sysone.arc.decide import Agent
from sysone.arc.frame import GAME_OVER, NOT_FINISHED, NOT_PLAYED, WIN, Frame
from sysone.arc.lifecycle import EMPTY_BEFORE_RESET


def frame(state: str = NOT_FINISHED, level: int = 0, fill: int = 5, pictures: int = 1) -> Frame:
    grid = np.full((64, 64), fill, np.int8)
    return Frame("g", [grid] * pictures, state, level, 3, [1, 2, 3, 4])


def test_before_the_first_picture_the_game_is_reset_once() -> None:
    agent = Agent()
    agent.begin(Frame(state=NOT_PLAYED))
    action, record = agent.decide()
    assert (action, record.source) == (RESET, "forced")
    agent.note(action, frame())
    assert agent.decide()[0] is not RESET


def test_a_game_that_shows_a_frame_is_not_reset_first() -> None:
    agent = Agent()
    agent.begin(frame())
    assert agent.decide()[0] is not RESET


def test_game_over_is_reset_and_counted() -> None:
    agent = Agent()
    agent.begin(frame())
    action, _ = agent.decide()
    agent.note(action, frame(GAME_OVER, fill=6))
    assert agent.on_game_over_calls == 1
    assert agent.decide()[0] is RESET


def test_won_is_done() -> None:
    agent = Agent()
    agent.begin(frame())
    agent.note(simple(1), frame(WIN, 3))
    assert agent.done
    assert agent.guard.forced(agent.observation) is None


def test_silence_is_met_with_one_level_reset_and_then_the_end() -> None:
    agent = Agent()
    agent.begin(frame())
    done: list[Action] = []
    for _ in range(20):
        if agent.done:
            break
        action, _ = agent.decide()
        done.append(action)
        agent.note(action, None)
    assert agent.guard.given_up
    assert done.index(RESET) == EMPTY_BEFORE_RESET
    assert done.count(RESET) == 1
    assert len(done) == 2 * EMPTY_BEFORE_RESET + 1


def test_a_picture_after_silence_starts_the_count_again() -> None:
    agent = Agent()
    agent.begin(frame())
    for turn in range(30):
        action, _ = agent.decide()
        assert action is not RESET
        agent.note(action, frame(fill=turn % 16) if turn % 3 == 2 else None)
    assert not agent.done


ANSWERS = st.one_of(
    st.none(),
    st.builds(
        frame,
        st.sampled_from([NOT_FINISHED, NOT_FINISHED, GAME_OVER, NOT_PLAYED]),
        st.integers(0, 2),
        st.integers(0, 15),
        st.integers(0, 2),
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(ANSWERS, min_size=1, max_size=60))
def test_whatever_a_game_answers(answers: list[Frame | None]) -> None:
    """Never two resets in a row, never one as a level's first act, always a legal action."""
    agent = Agent()
    agent.begin(answers[0])
    last = None
    for answer in answers[1:]:
        if agent.done:
            break
        seen = agent.observation
        action, _ = agent.decide()
        if action is RESET:
            assert last is not RESET
            if seen is not None and seen.state == NOT_FINISHED and not seen.empty:
                assert not seen.new_level
        elif seen is not None:
            assert action.id in seen.available_actions
        agent.note(action, answer)
        last = action
