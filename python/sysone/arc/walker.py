"""A model of a player that walks: where it is, what steps do, what can be walked on.

Learnt from what moved after each action, and used to plan: to the nearest thing that promises
something, over cells that are known to be passable.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc.actions import Action, simple
from sysone.arc.fog import Seen
from sysone.arc.moved import Box, Moved
from sysone.arc.places import Grid, Place, TriedAt, inside, overlap, shifted, values_in

# What a target is worth, in steps that one would walk further for a better one.
GOAL, UNKNOWN, TREASURE, NEW_PLACE, SPENT_GOAL, LARGE_AREA = 0, 4, 2, 30, 12, 10
NOTHING_NEW: Final = 90
"""A place that was not visited, but seen from all around."""
LARGE_SHARE: Final = 0.04
"""Share of the grid from which on a value is taken for a wall or floor, and touched last."""
MAX_PLACES: Final = 3000
SLIDES_SHARE: Final = 0.15
"""Share of steps that are not as long as the others from which on the player is said to slide."""


@dataclass(slots=True)
class Plan:
    """Actions to a target and what the last of them enters."""

    actions: list[Action]
    values: frozenset[int]
    cost: int


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
    _entered: Counter[int] = field(default_factory=Counter)
    _bumped: Counter[int] = field(default_factory=Counter)
    _under: frozenset[int] = frozenset()
    """Values below the player that are not floor."""
    _reopen: set[int] = field(default_factory=set)
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
            if self._under:
                # What lies where the player stood is what it stood on, if that is still there.
                left = values_in(after, own.before, own.after)
                gone = self._under - left - self.values
                if left <= self.passable:
                    self.treasure |= gone
                else:
                    # It gave way to something that nobody has walked on: no find, a one-way path.
                    self.treasure -= gone
                    self.crumbling |= gone
            floor = int(np.bincount(after.ravel(), minlength=16).argmax())
            self._under = entered - {floor}
            for value in entered & set(self.goals):
                self.spent[value] = self.events
            if self._under & self.treasure or self._other_changes(before, after, own):
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
        usual = self._lengths.most_common(1)[0][1]
        self.slides = self._lengths.total() - usual >= SLIDES_SHARE * self._lengths.total()
        (dx, dy), _ = counter.most_common(1)[0]
        self.relative[action.id] = (dx / width, dy / height)

    def undone(self, grid: Grid) -> None:
        """A step was taken back: where the player is, and nothing on what can be walked on."""
        self.box = self._find(grid)
        self._under = frozenset()

    def learn_goal(self, before: Grid, action: Action) -> None:
        """A level was gained: what the player was about to enter is what to go for."""
        ahead = self._ahead(before, action.id)
        if ahead:
            floor = int(np.bincount(before.ravel(), minlength=16).argmax())
            for value in ahead - {floor} - self.values:
                self.goals[value] += 1

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
        self._reopen = set(self.blocked)

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

    def _unit(self, action_id: int) -> Place | None:
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
        unit = self._unit(action_id)
        if unit is None or self.box is None:
            return None
        target = shifted(self.box, unit)
        return values_in(grid, target, self.box) if inside(target, grid) else None

    def plan(self, grid: Grid, mask: NDArray[np.uint8], tried: TriedAt) -> Plan | None:
        """The cheapest way to something that promises something; None if there is nothing."""
        if self.box is None:
            return None
        grid = self.seen.map(grid)
        units = {id_: unit for id_ in self.relative if (unit := self._unit(id_)) is not None}
        if not units:
            return None
        counts = np.bincount(grid.ravel(), minlength=16)
        large = {value for value in range(16) if counts[value] > LARGE_SHARE * grid.size}
        reopen = {value for value in self._reopen if value not in large}
        blocked = self.blocked - reopen
        slides = self.slides
        start = self.box[:2]
        width, height = self.box[2] - self.box[0], self.box[3] - self.box[1]
        came: dict[Place, tuple[Place, int] | None] = {start: None}
        depth = {start: 0}
        queue = deque([start])
        best: tuple[int, Place, int, frozenset[int]] | None = None
        while queue and len(came) < MAX_PLACES:
            place = queue.popleft()
            distance = depth[place]
            if best is not None and distance >= best[0]:
                break
            for id_, unit in units.items():
                if tried(place, id_):
                    continue
                here = place
                hit: frozenset[int] = frozenset()
                while True:
                    box = (here[0], here[1], here[0] + width, here[1] + height)
                    target = shifted(box, unit)
                    if not inside(target, grid) or mask[target[1], target[0]]:
                        break
                    hit = values_in(grid, target, box) - self.values
                    if not hit <= self.passable or hit & self.deadly or hit & self.treasure:
                        break
                    if hit & set(self.goals) and not self._is_spent(hit):
                        break
                    here = target[:2]
                    hit = frozenset()
                    if not slides:
                        break
                cost = self._cost(hit, blocked, large)
                if cost is not None:
                    candidate = (distance + 1 + cost, place, id_, hit)
                    if best is None or candidate[0] < best[0]:
                        best = candidate
                if here != place and here not in came:
                    came[here] = (place, id_)
                    depth[here] = distance + 1
                    queue.append(here)
                    there = (here[0], here[1], here[0] + width, here[1] + height)
                    if here not in self.visited:
                        worth = NEW_PLACE if self.seen.unseen(there) else NOTHING_NEW
                        candidate = (distance + 1 + worth, place, id_, frozenset())
                        if best is None or candidate[0] < best[0]:
                            best = candidate
        if best is None:
            return None
        cost, place, id_, hit = best
        actions = [simple(id_)]
        step = came[place]
        while step is not None:
            actions.append(simple(step[1]))
            step = came[step[0]]
        return Plan(actions[::-1], hit, cost)

    def _is_spent(self, hit: frozenset[int]) -> bool:
        return any(value in self.spent for value in hit)

    def _cost(self, hit: frozenset[int], blocked: set[int], large: set[int]) -> int | None:
        """What a target of these values costs beyond its distance; None for no target."""
        if not hit or hit & self.deadly:
            return None
        if hit & self.treasure:
            return GOAL if hit & set(self.goals) else TREASURE
        if hit & set(self.goals):
            if not self._is_spent(hit):
                return GOAL
            # A goal that did nothing is tried again after something happened.
            waiting = [value for value in hit if value in self.spent]
            return SPENT_GOAL if any(self.spent[v] < self.events for v in waiting) else None
        if hit & blocked or hit & self.pushed:
            return None
        unknown = hit - self.passable
        if not unknown:
            return None
        return LARGE_AREA if unknown & large else UNKNOWN

    def forget_reopened(self, values: frozenset[int]) -> None:
        """A door that was tried again is no news any more."""
        self._reopen -= values
