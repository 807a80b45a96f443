"""Plays boards of tiles: learns what clicks do, guesses what is wanted, and plans to it.

Guesses, the most telling first: the board shall look like a smaller picture of it, all tiles shall
be alike, or every line shall hold one kind of piece. What a level was gained with is tried first
in the next one; a guess that was reached for nothing is dropped for the level.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc.actions import Action
from sysone.arc.click_models import Held, PickAndPut, Rewrite, Seen, fit
from sysone.arc.memory import DIED, GAINED, NO_OP, Node
from sysone.arc.observe import Observation
from sysone.arc.tiles import MIXED, Board, Place, Values, find_board, find_picture

PROBES: Final = 6
"""Clicks in a level that may be spent on finding out what clicks do."""
PLANNED: Final = 120
"""Clicks in a level that plans may take before they are not trusted any more."""
KEPT: Final = 200
SEARCHES: Final = 12
"""Searches in a level that may fail; each can cost half a second."""
LOOKS: Final = 4
"""Times that a board is looked for in a level."""

PICTURE, ALIKE, LINES = "picture", "alike", "lines"
Aim = tuple[Hashable, ...]
Plan = tuple[int, int, Aim, list[int]]
"""Length, order among equals, guess and clicks."""


@dataclass(eq=False, slots=True)
class Kind:
    """Levels that follow one rule: what they look like, and the clicks that told the rule."""

    looks_like: Hashable
    seen: list[Seen] = field(default_factory=list)
    proved: Counter[Aim] = field(default_factory=Counter)
    """Guesses that they were gained with."""


class Clicker:
    """Of one game; boards are looked for anew in every level."""

    def __init__(self) -> None:
        self.proved: Counter[Aim] = Counter()
        """Guesses that levels of any kind were gained with."""
        self._rule: Rewrite | PickAndPut | None = None
        self._kinds: list[Kind] = []
        """What is known of levels that follow the same rule, the newest kind last."""
        self.start_level()

    def start_level(self, again: bool = False) -> None:
        """Another level, or the same from its start."""
        self._held: Held | None = None
        self._route: list[int] = []
        self._aim: Aim | None = None
        if again:
            return
        self._board: Board | None = None
        self._sure: set[Place] = set()
        """Places that were seen to be some, unlike room for more."""
        self._looks_like: Hashable = None
        self._live: set[Place] = set()
        self._refuted: set[Aim] = set()
        self._looks = self._probes = self._planned = self._failed = 0
        self._seen: list[Seen] = []
        """Clicks in this level."""
        self._fitted = -1
        self._kind: Kind | None = None

    def propose(self, observation: Observation, node: Node) -> Action | None:
        """A click that brings a guess nearer, or tells what clicks do; None without an idea."""
        board = self._look(observation)
        if board is None or self._planned > PLANNED:
            return None
        values = board.read(observation.grid)
        if MIXED in values:
            return None
        self._note_live(board, values)
        if self._looks_like is None:
            sure = board.with_places([place for place in board.places if place in self._sure])
            picture = find_picture(observation.grid, observation.mask, sure)
            self._looks_like = (board.floor in sure.read(observation.grid), picture is not None)
        self._fit(board)
        index = self._next(board, values, observation) if self._rule is not None else None
        if index is None:
            index = self._probe(board, values, node)
            if index is None:
                return None
        self._planned += 1
        action = board.action(board.places[index])
        edge = node.edges.get(action)
        if edge is not None and edge.kind in (NO_OP, DIED):
            self._route = []
            return None
        return action

    def learn(
        self, before: NDArray[np.uint8], action: Action, after: NDArray[np.uint8], kind: str
    ) -> None:
        """Take note of a click within a level, or of the one that gained it."""
        board = self._board
        if board is None:
            return
        place = board.at(action)
        if place is None or before.shape != after.shape:
            return
        clicked = board.places.index(place)
        old = board.read(before)
        if MIXED in old:
            return
        if kind == GAINED:
            self._keep(self._proof(board, old, clicked, before))
            return
        new = board.read(after)
        if MIXED in new:
            self._route = []
            return
        if old == new and self._drop(board, old, clicked):
            return
        unsure = frozenset(i for i, p in enumerate(board.places) if p not in self._sure)
        seen = Seen(board.places, old, clicked, new, self._held, unsure)
        self._held = PickAndPut.held_after(seen, board.floor)
        self._seen.append(seen)

    def _look(self, observation: Observation) -> Board | None:
        if self._board is None and self._looks < LOOKS:
            self._looks += 1
            found = find_board(observation.grid, observation.mask)
            if found is not None:
                self._sure = set(found.places)
                self._board = found.with_room(observation.grid)
        return self._board

    def _drop(self, board: Board, values: Values, clicked: int) -> bool:
        """Whether a click did nothing because there is no place where one was supposed."""
        rule = self._rule
        if self._held is None or not isinstance(rule, PickAndPut):
            return False
        landing = rule.landing(board.places, self._resting(values), clicked)
        if landing is None or board.places[landing] in self._sure:
            return False
        column, row = board.places[landing]
        axis, line = (0, column) if column not in {c for c, _ in self._sure} else (1, row)
        kept = [p for p in board.places if p in self._sure or p[axis] != line]
        self._held = (kept.index(board.places[self._held[0]]), self._held[1])
        self._board = board.with_places(kept)
        self._route = []
        return True

    def _note_live(self, board: Board, values: Values) -> None:
        for place, value in zip(board.places, values, strict=True):
            if value != board.floor:
                self._live.add(place)
                self._sure.add(place)

    def _fit(self, board: Board) -> None:
        """The rule of this level: one that other levels followed, as long as it explains this one.

        Levels that look alike come first, then newer ones.
        """
        if self._fitted == len(self._seen):
            return
        self._fitted = len(self._seen)
        before, self._rule, self._kind = self._rule, None, None
        newest = self._kinds[::-1]
        for kind in sorted(newest, key=lambda kind: kind.looks_like != self._looks_like):
            self._rule = fit([*kind.seen, *self._seen], board.floor)
            if self._rule is not None:
                self._kind = kind
                break
        else:
            self._rule = fit(self._seen, board.floor)
        if self._rule != before:
            self._route = []

    def _keep(self, proof: list[Aim]) -> None:
        """A level was gained: its clicks are evidence for the levels to come."""
        self.proved.update(proof)
        if self._rule is None:
            return
        if self._kind is None:
            self._kind = Kind(self._looks_like)
        else:
            self._kinds.remove(self._kind)
        self._kind.proved.update(proof)
        self._kind.seen = [*self._kind.seen, *self._seen][-KEPT:]
        self._kinds.append(self._kind)

    def _next(self, board: Board, values: Values, observation: Observation) -> int | None:
        """The next click of the plan, made anew where there is none."""
        if self._route:
            return self._route.pop(0)
        if self._aim is not None and self._reached(board, values):
            # Reached, and no level gained: that was not what is wanted.
            self._refuted.add(self._aim)
        self._aim = None
        plans, missing = self._plans(board, values, observation)
        if plans:
            _, _, self._aim, self._route = min(plans, key=lambda plan: plan[:2])
            return self._route.pop(0)
        return missing if missing is not None else self._unknown(board, values)

    def _plans(
        self, board: Board, values: Values, observation: Observation
    ) -> tuple[list[Plan], int | None]:
        """What can be reached of the best kind of guess; or a click that may open a way to it."""
        rule = self._rule
        if isinstance(rule, PickAndPut):
            return self._line_plans(rule, board, values), None
        assert rule is not None
        live = self._live_indices(board)
        start = tuple(values[index] for index in live)
        tiers: dict[int, list[Plan]] = {}
        for order, (aim, goal) in enumerate(self._goals(board, values, live, observation)):
            if aim in self._refuted or self._failed >= SEARCHES:
                continue
            proved = 0
            if self._kind is not None:
                proved = self._kind.proved[aim] + self._kind.proved[aim[:1]]
            tier = -proved if proved else 1 if aim[0] == PICTURE else 2
            route = rule.plan(board.places, live, start, goal)
            self._failed += route is None and not rule.quick
            if route:
                tiers.setdefault(tier, []).append((len(route), order, aim, route))
            elif tier < 2:
                # What is still unknown on the way to a good guess comes before other guesses.
                pairs = zip(live, goal, strict=True)
                off = [i for i, wanted in pairs if wanted != values[i]]
                fresh = [i for i in off if values[i] not in rule.following]
                if fresh and tier not in tiers:
                    return [], self._central(board, fresh)
        return (tiers[min(tiers)] if tiers else []), None

    def _line_plans(self, rule: PickAndPut, board: Board, values: Values) -> list[Plan]:
        aim: Aim = (LINES,)
        if aim in self._refuted or self._failed >= SEARCHES:
            return []
        put_back = [self._held[0]] if self._held is not None else []
        resting = self._resting(values)
        route = rule.plan(board.places, resting, lambda pieces: in_lines(rule, board, pieces))
        self._failed += route is None
        return [(len(route), 0, aim, [*put_back, *route])] if route else []

    def _goals(
        self, board: Board, values: Values, live: Sequence[int], observation: Observation
    ) -> list[tuple[Aim, Values]]:
        found: list[tuple[Aim, Values]] = []
        picture = find_picture(observation.grid, observation.mask, _only(board, live))
        if picture is not None:
            found.append(((PICTURE,), picture))
        assert isinstance(self._rule, Rewrite)
        known = {values[index] for index in live} | set(self._rule.following.values())
        found += [((ALIKE, value), (value,) * len(live)) for value in sorted(known)]
        return found

    def _unknown(self, board: Board, values: Values) -> int | None:
        """A tile of a value that nobody clicked yet: what it becomes may open a way."""
        if not isinstance(self._rule, Rewrite):
            return None
        known = set(self._rule.following) | self._rule.inert
        fresh = [index for index in self._live_indices(board) if values[index] not in known]
        return self._central(board, fresh)

    def _probe(self, board: Board, values: Values, node: Node) -> int | None:
        """A click that tells what clicks do, while no rule is known."""
        if self._rule is not None or self._probes >= PROBES:
            return None
        live = self._live_indices(board)
        if self._held is not None:
            live = [i for i, value in enumerate(values) if value == board.floor] or live
        fresh = [i for i in live if board.action(board.places[i]) not in node.edges]
        index = self._central(board, fresh)
        self._probes += index is not None
        return index

    @staticmethod
    def _central(board: Board, indices: Sequence[int]) -> int | None:
        """The place with the most others around it: its click shows the most at a time."""
        if not indices:
            return None
        places = set(board.places)

        def around(index: int) -> int:
            column, row = board.places[index]
            steps = ((1, 0), (-1, 0), (0, 1), (0, -1))
            return sum((column + dx, row + dy) in places for dx, dy in steps)

        return max(indices, key=lambda index: (around(index), -index))

    def _live_indices(self, board: Board) -> list[int]:
        return [index for index, place in enumerate(board.places) if place in self._live]

    def _resting(self, values: Values) -> Values:
        """The pieces with the one that is picked up put back."""
        if self._held is None:
            return values
        at, value = self._held
        return tuple(value if index == at else found for index, found in enumerate(values))

    def _reached(self, board: Board, values: Values) -> bool:
        """Whether the board is where the last plan wanted it."""
        rule = self._rule
        if isinstance(rule, PickAndPut):
            return self._held is None and in_lines(rule, board, values)
        live = self._live_indices(board)
        assert self._aim is not None
        if self._aim[0] == ALIKE:
            return all(values[index] == self._aim[1] for index in live)
        return True  # a picture: the plan to it was played to its end

    def _proof(
        self, board: Board, old: Values, clicked: int, before: NDArray[np.uint8]
    ) -> list[Aim]:
        """Which guesses hold in the state that the click which gained the level made."""
        rule = self._rule
        if isinstance(rule, PickAndPut):
            resting = self._resting(old)
            start = self._held[0] if self._held is not None else clicked
            after = rule.move(board.places, resting, start, clicked)
            return [(LINES,)] if after is not None and in_lines(rule, board, after) else []
        if rule is None:
            return []
        column, row = board.places[clicked]
        reach = {(column + dx, row + dy) for dx, dy in rule.offsets}
        live = self._live_indices(board)
        made = tuple(
            rule.following.get(old[i], MIXED) if board.places[i] in reach else old[i] for i in live
        )
        picture = find_picture(before, np.zeros_like(before), _only(board, live))
        if picture == made or (self._aim == (PICTURE,) and not self._route):
            return [(PICTURE,)]
        return [(ALIKE, made[0]), (ALIKE,)] if len(set(made)) == 1 else []


def in_lines(rule: PickAndPut, board: Board, pieces: Values) -> bool:
    """Whether every line holds one kind of piece, and every kind is in one line."""
    pull = rule.pull if rule.pull != (0, 0) else (0, 1)
    axis = 0 if pull[1] else 1
    lines: dict[int, set[int]] = {}
    for place, value in zip(board.places, pieces, strict=True):
        if value != board.floor:
            lines.setdefault(place[axis], set()).add(value)
    kinds = [value for found in lines.values() for value in found]
    return all(len(found) == 1 for found in lines.values()) and len(kinds) == len(set(kinds))


def _only(board: Board, indices: Sequence[int]) -> Board:
    """The board of some of its places."""
    return board.with_places([board.places[index] for index in indices])
