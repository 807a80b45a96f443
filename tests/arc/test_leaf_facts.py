"""Stage A on candidates: what the teacher knows of each, and what the student is drawn to."""

import random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from sysone.arc import wording
from sysone.arc.learn.rows import Row
from sysone.arc.system1 import leaf
from sysone.arc.system1.leaf import Question

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.learn

GROUND, WALL, THING, GOAL = 5, 4, 9, 14
STATE = "qwenjev-state-v1c|h=64 w=64 l=0 s=NOT_FINISHED"
MOVES = {1: (0, -4), 2: (0, 4), 3: (-4, 0), 4: (4, 0)}


def room(goal: tuple[int, int] = (48, 24)) -> NDArray[np.uint8]:
    """A thing left of a wall, whose only gap is at the bottom, and a goal."""
    grid = np.full((64, 64), WALL, np.uint8)
    grid[8:56, 8:56] = GROUND
    grid[8:48, 32:36] = WALL
    grid[24:28, 24:28] = THING
    x, y = goal
    grid[y : y + 4, x : x + 4] = GOAL
    return grid


def asked(grid: NDArray[np.uint8], at: tuple[int, int] = (25, 25), state: str = STATE) -> Question:
    """Which way, where it is known what each of four actions would bring."""
    ends = [wording.TO.format(id=i, x=at[0] + x, y=at[1] + y) for i, (x, y) in MOVES.items()]
    lines = [
        f"{wording.HERE}1 untried, 2 seen 3, 3 no effect, 4 untried",
        f"{wording.MOVER}x={at[0]} y={at[1]}, colour {THING:x}{''.join(ends)}",
    ]
    texts = [f"ACTION{i}" for i in MOVES]
    return leaf.choice(grid, state, texts, wording.with_lines(wording.CHOICE, [], lines))


def nearer(question: Question, value: int) -> dict[str, list[float]]:
    """What the teacher says each candidate gains on a value, on foot and straight."""
    from sysone.arc.learn.leaf_facts import VALUES, LeafFacts

    ways = LeafFacts(question).ways()
    return {
        "foot": ways[:, value].tolist(),
        "straight": ways[:, VALUES + value].tolist(),
    }


def test_a_wall_is_walked_around_and_the_straight_way_is_told_too() -> None:
    up, down, left, right = nearer(asked(room()), GOAL)["foot"]
    assert down > 0 > up, "the way leads through the gap at the bottom"
    assert left <= 0
    up, down, left, right = nearer(asked(room()), GOAL)["straight"]
    assert right > 0 > left
    open_ = np.where(room() == WALL, GROUND, room()).astype(np.uint8)
    up, down, left, right = nearer(asked(open_), GOAL)["foot"]
    assert right > 0 > left, "without the wall it leads straight there"


def test_a_step_into_the_wall_is_no_way() -> None:
    grid = np.roll(room(), 4, 1)
    grid[24:28, 28:32], grid[24:28, 32:36] = GROUND, THING
    up, down, _, right = nearer(asked(grid, (33, 25)), GOAL)["foot"]
    assert right < up < down


def test_what_changed_tells_where_the_thing_walks() -> None:
    from sysone.arc.learn.leaf_facts import LeafFacts, changed_cells, ground_of

    grid = room()
    grid[20:24, 24:28] = 6
    told = LeafFacts(asked(grid))
    assert told.mover is not None
    assert ground_of(grid, told.changed, told.mover) == {THING, GROUND}
    state = f"{STATE}\n22:{'5' * 24}****{'5' * 36}"
    told = LeafFacts(asked(grid, state=state))
    assert told.changed.sum() == 4
    assert np.array_equal(told.changed, changed_cells(state))
    assert told.mover is not None
    assert ground_of(grid, told.changed, told.mover) == {THING, 6}


def test_clicks_are_told_by_what_lies_there() -> None:
    from sysone.arc.learn.leaf_facts import LeafFacts

    texts = ["ACTION6 x=49 y=25", "ACTION6 x=25 y=25", "ACTION6 x=10 y=10", "ACTION6 x=12 y=10"]
    facts = LeafFacts(leaf.choice(room(), STATE, texts, wording.CHOICE))
    places = facts.places()
    assert places[0, GOAL] == places[1, THING] == places[2, GROUND] == 1
    assert not np.array_equal(places[0], places[1])
    assert np.abs(places[0] - places[2]).sum() > np.abs(places[2] - places[3]).sum()
    assert not facts.ways().any(), "nothing is known of what they did, and nothing moves"


def test_the_teacher_tells_of_every_candidate_and_moves_with_the_picture() -> None:
    from sysone.arc.learn.facts import FactsTeacher

    teacher = FactsTeacher()
    one, other = asked(room()), asked(room((48, 48)))
    first, second = (teacher.leaf_states([question], 2) for question in (one, other))
    for layer in range(2):
        assert first[layer][0].shape == (4, 128)
    assert float((first[1][0] - second[1][0]).abs().max()) > 1e-3
    both = teacher.leaf_states([one, other], 2)
    assert all(torch.equal(both[layer][1], second[layer][0]) for layer in range(2))


def test_the_student_is_drawn_to_what_candidates_differ_by() -> None:
    from sysone.arc.learn.align import leaf_loss, make_projections
    from sysone.arc.learn.facts import FactsTeacher
    from sysone.arc.system1.backend import TinyBackend

    student = TinyBackend(2)
    questions = [asked(room()), asked(room((48, 48)))]
    projections = make_projections(128, 128, 2, 0)
    loss = leaf_loss(student, FactsTeacher(), projections, questions)
    loss.backward()
    assert 0 < float(loss.detach()) < 2
    assert student.module.patches.weight.grad.abs().sum() > 0
    assert student.module.near.weight.grad.abs().sum() > 0
    # A student that says what the teacher says, and something common besides, has no loss.
    same = torch.nn.ModuleList(torch.nn.Linear(128, 128) for _ in range(2))
    with torch.no_grad():
        for linear in same:
            linear.weight.copy_(torch.eye(128))
            linear.bias.fill_(3.0)
        itself = float(leaf_loss(student, student, same, questions))
    assert itself == pytest.approx(0, abs=1e-5)


def test_states_of_leaves_are_those_that_the_heads_read() -> None:
    from sysone.arc.system1.backend import TinyBackend

    backend = TinyBackend(3)
    questions = [asked(room()), leaf.score(room(), STATE)]
    with torch.inference_mode():
        states = backend.leaf_states(questions, 2)
        vectors = backend.together(questions)
        assert [[len(part) for part in layer] for layer in states] == [[4, 5], [4, 5]]
        for last, vector in zip(states[-1], vectors, strict=True):
            assert torch.allclose(backend.module.norm(last), vector, atol=1e-5)


def test_which_candidates_are_drawn_does_not_depend_on_which_is_right() -> None:
    from sysone.arc.learn.align import _fewer

    texts = [f"ACTION6 x={x} y=1" for x in range(20)]
    row = Row("k", "g", "choice", "0", "", 0, "NOT_FINISHED", 3, texts, [], [0.05] * 20)

    def drawn(given: Row) -> list[str]:
        found: Any = _fewer(random.Random(5), given, 6)
        return list(found.candidates)

    assert len(drawn(row)) == 6
    assert drawn(row) == drawn(replace(row, label=17, shares=[]))
    assert _fewer(random.Random(5), row, 0) is row
    boolean = replace(row, family="boolean", candidates=texts[:1])
    assert _fewer(random.Random(5), boolean, 1) is boolean
