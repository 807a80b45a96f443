"""A model of a player that walks: where it is, what steps do, what can be walked on.

Learnt from what moved after each action, and used to plan: to the nearest thing that promises
something, over cells that are known to be passable.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc.actions import Action
from sysone.arc.fog import Seen
from sysone.arc.moved import Box, Moved
from sysone.arc.places import Grid, Place, TriedAt, inside, overlap, shifted, values_in
from sysone.arc.route import Plan, find_route

SLIDES_SHARE: Final = 0.15
"""Share of steps that are not as long as the others from which on the player is said to slide."""


@dataclass(slots=True)
class Walker:
    """Learns in one game; places are forgotten in each level."""

    box: Box | None = None
    """Where the player is."""
    values: frozenset[int] = frozenset()
    steps: dict[int, Counter[Place]] = field(default_factory=dict)
    """Action id to the steps that it made in this level, in pixels."""
    relative: dict[int, tuple[float, float]] = field(default_factory=dict)
    """The same in player's sizes: another level may be drawn larger or smaller."""
    slides: bool = False
    """Whether the player goes on until something stops it."""
    passable: set[int] = field(default_factory=set)
    blocked: set[int] = field(default_factory=set)
    deadly: set[int] = field(default_factory=set)
    pushed: set[int] = field(default_factory=set)
    treasure: set[int] = field(default_factory=set)
    """Values that were gone after the player had been on them."""
    crumbling: set[int] = field(default_factory=set)
    """Values that turned into something else, that was never walked on, behind the player."""
    goals: Counter[int] = field(default_factory=Counter)
    """Values that the player entered when a level was gained."""
    spent: dict[int, int] = field(default_factory=dict)
    """Goal value to the number of events when it was entered for nothing."""
    events: int = 0
    _ways: dict[frozenset[int], dict[int, set[Place]]] = field(default_factory=dict)
    """Values that moved together, to the ways that each action moved them."""
    _seen_events: int = 0
    _n_moves: int = 0
    visited: set[Place] = field(default_factory=set)
    seen: Seen = field(default_factory=Seen)
    """What was seen of the level where there is fog."""
    _lengths: Counter[int] = field(default_factory=Counter)
    """Steps by their length in player's sizes."""
    left_over: Counter[bool] = field(default_factory=Counter)
    """Whether finds were left when a level was gained."""
    _entered: Counter[int] = field(default_factory=Counter)
    _bumped: Counter[int] = field(default_factory=Counter)
    _under: frozenset[int] = frozenset()
    """Values below the player that are not floor."""
    reopen: set[int] = field(default_factory=set)
    """Values that were closed when something happened: worth one more try."""

    @property
    def ready(self) -> bool:
        """Whether there is a player that is known to walk."""
        return self.box is not None and len(self.relative) >= 1

    def start_level(self, grid: Grid, again: bool = False) -> None:
        """Look for the player in a new level, or ``again`` in the same one."""
        self.visited = set()
        self.spent = {}
        self.steps = {}
        self._under = frozenset()
        self.box = self._find(grid)
        if self.box is not None:
            self.visited.add(self.box[:2])
        if not again:
            self.seen.start_level(grid, self.box)

    def _find(self, grid: Grid) -> Box | None:
        if not self.values:
            return None
        cells = np.isin(grid, list(self.values))
        rows, columns = np.flatnonzero(cells.any(axis=1)), np.flatnonzero(cells.any(axis=0))
        if not len(rows):
            return None
        box = (int(columns[0]), int(rows[0]), int(columns[-1]), int(rows[-1]))
        # More than one thing of these values, or another thing: not the player.
        return box if max(box[2] - box[0], box[3] - box[1]) < 24 else None

    def learn(
        self,
        before: Grid,
        action: Action,
        after: Grid,
        moves: list[Moved],
        changed_outside: bool,
        died: bool,
        mask: NDArray[np.uint8] | None = None,
    ) -> None:
        """Learn from an action within a level; ``moves`` are empty where nothing changed."""
        if action.is_click:
            return
        moves = self._split(moves)
        own = self._own(moves, action.id) or (self._displaced(after) if changed_outside else None)
        ahead = self._ahead(before, action.id)
        if died:
            if ahead and not ahead <= self.passable:
                self.deadly |= ahead - self.passable - self.blocked
            return
        if own is None:
            if self.box is not None and action.id in self.relative:
                if not changed_outside and ahead is not None:
                    if len(ahead) == 1:
                        self._bump(next(iter(ahead)))
                    fresh = ahead - self.passable
                    if len(fresh) == 1 or not self.blocked & fresh:
                        self.blocked |= fresh
                elif changed_outside:
                    self._event()
                    self.box = self._find(after)
            return
        self._n_moves += 1
        entered = values_in(before, own.after, own.before)
        # Pushed is what stood where the player stands now, and made the same step.
        shoved = [
            move
            for move in moves
            if move is not own
            and (move.dx, move.dy) == (own.dx, own.dy)
            and any(overlap(part[1], own.after) for part in move.parts)
        ]
        if shoved or entered & self.pushed:
            self.pushed |= entered & frozenset().union(*(move.values for move in shoved))
        else:
            self.passable |= entered
            self.blocked -= entered
            self._entered.update(entered)
            first_find = False
            if self._under:
                # What lies where the player stood is what it stood on, if that is still there.
                left = values_in(after, own.before, own.after)
                gone = self._under - left - self.values
                if left <= self.passable:
                    first_find = bool(gone - self.treasure)
                    self.treasure |= gone
                else:
                    # It gave way to something that nobody has walked on: no find, a one-way path.
                    self.treasure -= gone
                    self.crumbling |= gone
            floor = int(np.bincount(after.ravel(), minlength=16).argmax())
            self._under = entered - {floor}
            for value in entered & set(self.goals):
                self.spent[value] = self.events
            if first_find or self._under & self.treasure or self._other_changes(before, after, own):
                self._event()
        hidden = np.zeros_like(after) if mask is None else mask
        self.seen.note(before, after, own.before, own.after, hidden)
        self.seen.look(after, own.after)
        self.values = own.values
        self.box = own.after
        self.visited.add(own.after[:2])
        counter = self.steps.setdefault(action.id, Counter())
        counter[own.dx, own.dy] += 1
        width, height = own.after[2] - own.after[0] + 1, own.after[3] - own.after[1] + 1
        self._lengths[round((abs(own.dx) + abs(own.dy)) / max(width, 1))] += 1
        length, times = self._lengths.most_common(1)[0]
        others = self._lengths.total() - times
        self.slides = others >= (SLIDES_SHARE * self._lengths.total() if length <= 1 else 1)
        (dx, dy), _ = counter.most_common(1)[0]
        self.relative[action.id] = (dx / width, dy / height)

    def undone(self, grid: Grid) -> None:
        """A step was taken back: where the player is, and nothing on what can be walked on."""
        self.box = self._find(grid)
        self._under = frozenset()

    def learn_goal(self, before: Grid, action: Action, last: Grid | None = None) -> None:
        """A level was gained: what the player entered with that is what to go for.

        ``last`` is the level's last picture, where the game shows one; without it, or without the
        player on it, what was ahead counts.
        """
        entered = self._ahead(before, action.id)
        end = self._find(last) if last is not None else None
        if end is not None and self.box is not None and end != self.box:
            dx, dy = end[0] - self.box[0], end[1] - self.box[1]
            if shifted(self.box, (dx, dy)) == end:
                entered = values_in(before, end, self.box)
        if entered:
            floor = int(np.bincount(before.ravel(), minlength=16).argmax())
            for value in entered - {floor} - self.values:
                self.goals[value] += 1
            if self.treasure:
                rest = self.treasure - entered - self.values
                self.left_over[bool(np.isin(before, list(rest)).any())] += 1

    def _bump(self, value: int) -> None:
        """What stops the player at least as often as it is entered was taken for a way wrongly."""
        self._bumped[value] += 1
        if value in self.passable and self._bumped[value] >= self._entered[value]:
            self.passable.discard(value)

    def _event(self) -> None:
        """Something happened: what was closed may be open now."""
        self._seen_events += 1
        # Where every step changes something far off, as with fog, that is no news.
        if self._n_moves >= 6 and self._seen_events > self._n_moves // 2:
            return
        self.events += 1
        self.reopen = set(self.blocked)

    def _split(self, moves: list[Moved]) -> list[Moved]:
        """The player apart from what it pushes, which moves by the same step."""
        split: list[Moved] = []
        for move in moves:
            own = move.of(self.values) if self.values < move.values else None
            rest = move.of(move.values - self.values) if own is not None else None
            split += [own, rest] if own is not None and rest is not None else [move]
        return split

    def _own(self, moves: list[Moved], action_id: int) -> Moved | None:
        """Which of the things that moved is the player: the one that obeys."""
        for move in moves:
            ways = self._ways.setdefault(move.values, {}).setdefault(action_id, set())
            ways.add((int(np.sign(move.dx)), int(np.sign(move.dy))))
        if not moves:
            return None
        if self.values and self._obeys(self.values) > 0:
            rivals = [move for move in moves if self._obeys(move.values) > self._obeys(self.values)]
            if not rivals:
                for move in moves:
                    if move.values & self.values and (
                        self.box is None or overlap(move.before, self.box)
                    ):
                        return move
                return None
            moves = rivals
        return max(moves, key=lambda move: self._obeys(move.values))

    def _displaced(self, after: Grid) -> Moved | None:
        """The player by its colours alone, where too much changed to see what moved."""
        found = self._find(after)
        old = self.box
        if found is None or old is None or found == old:
            return None
        dx, dy = found[0] - old[0], found[1] - old[1]
        return Moved(dx, dy, old, found, self.values) if shifted(old, (dx, dy)) == found else None

    def _obeys(self, values: frozenset[int]) -> int:
        """How many actions move these values a way of their own, less those that do not."""
        found = self._ways.get(values, {})
        single = {next(iter(ways)) for ways in found.values() if len(ways) == 1}
        return len(single) - sum(len(ways) > 1 for ways in found.values())

    @staticmethod
    def _other_changes(before: Grid, after: Grid, own: Moved) -> bool:
        differs = before != after
        for x0, y0, x1, y1 in (own.before, own.after):
            differs[y0 : y1 + 1, x0 : x1 + 1] = False
        # A HUD changes a few cells near an edge; that is no event.
        return bool(differs[4:-4, 4:-4].any())

    def unit(self, action_id: int) -> Place | None:
        """One cell on: the usual step, or the player's size when it slides."""
        if self.box is None or action_id not in self.relative:
            return None
        dx, dy = self.relative[action_id]
        width, height = self.box[2] - self.box[0] + 1, self.box[3] - self.box[1] + 1
        if self.slides:
            return int(np.sign(dx)) * width, int(np.sign(dy)) * height
        seen = self.steps.get(action_id)
        return seen.most_common(1)[0][0] if seen else (round(dx * width), round(dy * height))

    def _ahead(self, grid: Grid, action_id: int) -> frozenset[int] | None:
        unit = self.unit(action_id)
        if unit is None or self.box is None:
            return None
        target = shifted(self.box, unit)
        return values_in(grid, target, self.box) if inside(target, grid) else None

    def plan(self, grid: Grid, mask: NDArray[np.uint8], tried: TriedAt) -> Plan | None:
        """The cheapest way to something that promises something; None if there is nothing."""
        return find_route(self, grid, mask, tried)

    def collects(self, grid: Grid) -> bool:
        """Whether something lies about in a game whose levels were gained with nothing left."""
        if not self.left_over[False] or self.left_over[True]:
            return False
        return bool(np.isin(grid, list(self.treasure - self.values)).any())

    def is_spent(self, hit: frozenset[int]) -> bool:
        """Whether a goal of these values did nothing in this level."""
        return any(value in self.spent for value in hit)

    def waits(self, hit: frozenset[int]) -> bool:
        """Whether something happened since a goal of these values did nothing."""
        return any(value in self.spent and self.spent[value] < self.events for value in hit)

    def forget_reopened(self, values: frozenset[int]) -> None:
        """A door that was tried again is no news any more."""
        self.reopen -= values
