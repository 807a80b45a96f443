"""What clicks do to a board, learnt from what they did: two families of rules.

`Rewrite`: a click changes the tiles at fixed offsets from it, each to its next value. `PickAndPut`:
a click picks a piece up and the next one puts it down, at the place or onto a pile. A rule is
used as long as it explains every click that was seen.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from sysone.arc.linear import cycle_of, fewest_clicks
from sysone.arc.tiles import Place, Values

MAX_STEPS: Final = 200_000
"""Clicks that a search may think through: half a second."""
S = TypeVar("S")
M = TypeVar("M")
Held = tuple[int, int]
"""Index of the place whose piece is picked up, and the piece's value."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One click and what came of it."""

    places: tuple[Place, ...]
    before: Values
    clicked: int
    after: Values
    held: Held | None = None
    unsure: frozenset[int] = frozenset()
    """Places of which nobody knows whether they are any."""

    @property
    def changed(self) -> list[int]:
        """Indices of the places that differ."""
        pairs = enumerate(zip(self.before, self.after, strict=True))
        return [index for index, (old, new) in pairs if old != new]


@dataclass(slots=True)
class Rewrite:
    """A click changes the tiles at some offsets from it, each by the same map of values."""

    offsets: set[Place] = field(default_factory=set)
    following: dict[int, int] = field(default_factory=dict)
    inert: set[int] = field(default_factory=set)
    """Values on which a click does nothing."""

    @classmethod
    def fit(cls, seen: Sequence[Seen], floor: int) -> "Rewrite | None":
        """The rule that explains all of it; None if there is none, or nothing happened yet."""
        rule = cls()
        for item in seen:
            column, row = item.places[item.clicked]
            if not item.changed:
                rule.inert.add(item.before[item.clicked])
            for index in item.changed:
                old, new = item.before[index], item.after[index]
                if rule.following.setdefault(old, new) != new:
                    return None
                place = item.places[index]
                rule.offsets.add((place[0] - column, place[1] - row))
        if (0, 0) not in rule.offsets:
            return None
        for item in seen:
            if not item.changed:
                continue
            if item.before[item.clicked] in rule.inert:
                return None
            column, row = item.places[item.clicked]
            reach = {(column + dx, row + dy) for dx, dy in rule.offsets}
            expected = {
                index
                for index, place in enumerate(item.places)
                if place in reach and item.before[index] != floor
            }
            if expected != set(item.changed):
                return None
        return rule

    @property
    def alone(self) -> bool:
        """Whether a click changes the clicked tile and no other."""
        return self.offsets == {(0, 0)}

    @property
    def quick(self) -> bool:
        """Whether plans need no search."""
        return self.alone or cycle_of(self.following) is not None

    def plan(
        self, places: tuple[Place, ...], live: Sequence[int], start: Values, goal: Values
    ) -> list[int] | None:
        """The fewest clicks from one state of the live places to another; None if none are known.

        ``start`` and ``goal`` hold a value for each index of ``live``; indices of places come back.
        """
        where = {places[index]: at for at, index in enumerate(live)}
        touched = []
        for index in live:
            column, row = places[index]
            reach = [(column + dx, row + dy) for dx, dy in self.offsets]
            touched.append([where[place] for place in reach if place in where])
        if self.alone:
            return self._each_by_itself(live, start, goal)
        following, inert = self.following, self.inert
        order = cycle_of(following)
        within = order is not None and set(start) | set(goal) <= set(order) - inert
        if order is not None and within and goal != start:
            pairs = zip(start, goal, strict=True)
            wanted = [order.index(after) - order.index(before) for before, after in pairs]
            times = fewest_clicks(touched, wanted, len(order))
            if times is None:
                return None
            return [index for index, n in zip(live, times, strict=True) for _ in range(n)]

        def steps(state: Values) -> list[tuple[int, Values]]:
            found = []
            for at, reach in enumerate(touched):
                if state[at] in inert or any(state[i] not in following for i in reach):
                    continue
                after = list(state)
                for i in reach:
                    after[i] = following[after[i]]
                found.append((live[at], tuple(after)))
            return found

        return search(start, lambda state: state == goal, steps)

    def _each_by_itself(self, live: Sequence[int], start: Values, goal: Values) -> list[int] | None:
        clicks: list[int] = []
        for index, value, wanted in zip(live, start, goal, strict=True):
            for _ in range(len(self.following) + 1):
                if value == wanted:
                    break
                if value in self.inert or value not in self.following:
                    return None
                value = self.following[value]
                clicks.append(index)
            else:
                return None
        return clicks


PULLS: Final[tuple[Place, ...]] = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))
"""Where pieces fall: nowhere, or to one side."""
Pieces = Values


@dataclass(frozen=True, slots=True)
class PickAndPut:
    """A click picks up, the next one puts down; ``pull`` says which piece of a line is meant."""

    pull: Place
    floor: int

    @classmethod
    def fit(cls, seen: Sequence[Seen], floor: int) -> "PickAndPut | None":
        """The first pull that explains all of it; None if there is none, or nothing happened."""
        if not any(item.changed for item in seen):
            return None
        for pull in PULLS:
            rule = cls(pull, floor)
            if all(rule._explains(item) for item in seen):
                return rule
        return None

    @staticmethod
    def held_after(item: Seen, floor: int) -> Held | None:
        """What is picked up after a click."""
        changed = item.changed
        if item.held is None:
            if len(changed) == 1 and item.before[changed[0]] != floor:
                return changed[0], item.before[changed[0]]
            return None
        return item.held if not changed else None

    def _explains(self, item: Seen) -> bool:
        changed = set(item.changed)
        if item.held is None:
            top = self.piece(item.places, item.before, item.clicked)
            if not changed:
                return top is None
            return changed == {top} and item.after[item.clicked if top is None else top] != (
                self.floor
            )
        at, value = item.held
        resting = tuple(value if i == at else v for i, v in enumerate(item.before))
        moved = self.move(item.places, resting, at, item.clicked)
        if moved is None:
            return not changed
        if not changed and self.landing(item.places, resting, item.clicked) in item.unsure:
            return True
        return item.after == moved

    def line(self, places: tuple[Place, ...], index: int) -> list[int]:
        """The places of a line, the far end first; without a pull the place alone."""
        if self.pull == (0, 0):
            return [index]
        dx, dy = self.pull
        column, row = places[index]
        same = [
            (place[0] * dx + place[1] * dy, i)
            for i, place in enumerate(places)
            if (place[0] == column if dy else place[1] == row)
        ]
        return [i for _, i in sorted(same)]

    def piece(self, places: tuple[Place, ...], pieces: Pieces, index: int) -> int | None:
        """The piece that a click on a place picks up."""
        return next((i for i in self.line(places, index) if pieces[i] != self.floor), None)

    def landing(self, places: tuple[Place, ...], pieces: Pieces, clicked: int) -> int | None:
        """The place where a piece comes to lie that is put down with a click."""
        room = None
        for i in self.line(places, clicked):
            if pieces[i] != self.floor:
                break
            room = i
        return room

    def move(
        self, places: tuple[Place, ...], pieces: Pieces, start: int, clicked: int
    ) -> Pieces | None:
        """The pieces once one was put down; the same for putting back; None where it cannot be."""
        if start in self.line(places, clicked):
            return pieces
        room = self.landing(places, pieces, clicked)
        if room is None:
            return None
        after = list(pieces)
        after[room], after[start] = pieces[start], self.floor
        return tuple(after)

    def plan(
        self, places: tuple[Place, ...], pieces: Pieces, is_goal: Callable[[Pieces], bool]
    ) -> list[int] | None:
        """The fewest clicks that lead to a goal, two a move; None if none are known."""
        lines = {tuple(self.line(places, index)) for index in range(len(places))}
        ends = sorted(line[-1] for line in lines)

        def steps(state: Pieces) -> list[tuple[tuple[int, int], Pieces]]:
            found = []
            for end in ends:
                start = self.piece(places, state, end)
                if start is None:
                    continue
                for other in ends:
                    after = self.move(places, state, start, other)
                    if after is not None and after != state:
                        found.append(((end, other), after))
            return found

        moves = search(pieces, is_goal, steps)
        return None if moves is None else [index for move in moves for index in move]


def fit(seen: Sequence[Seen], floor: int) -> Rewrite | PickAndPut | None:
    """The simplest rule that explains every click; None if there is none."""
    return Rewrite.fit(seen, floor) or PickAndPut.fit(seen, floor)


def search(
    start: S, is_goal: Callable[[S], bool], steps: Callable[[S], list[tuple[M, S]]]
) -> list[M] | None:
    """A shortest way of at least one move by breadth-first search, back to the start included.

    None without one within `MAX_STEPS` steps.
    """
    left = MAX_STEPS
    came: dict[S, tuple[S, M] | None] = {start: None}
    queue = deque([start])
    while queue and left > 0:
        state = queue.popleft()
        following = steps(state)
        left -= len(following)
        for move, after in following:
            if is_goal(after):
                found = [move]
                step = came[state]
                while step is not None:
                    found.append(step[1])
                    step = came[step[0]]
                return found[::-1]
            if after not in came:
                came[after] = (state, move)
                queue.append(after)
    return None
