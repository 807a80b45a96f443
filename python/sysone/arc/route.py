"""The walker's way to what promises most, over cells that are known to be passable."""

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc.actions import Action, simple
from sysone.arc.places import Grid, Place, TriedAt, inside, shifted, values_in

if TYPE_CHECKING:
    from sysone.arc.walker import Walker

# What a target is worth, in steps that one would walk further for a better one.
GOAL, UNKNOWN, TREASURE, NEW_PLACE, SPENT_GOAL, LARGE_AREA = 0, 4, 2, 30, 12, 10
LATER_GOAL: Final = 60
"""A goal while something lies about that was always collected before."""
NOTHING_NEW: Final = 90
"""A place that was not visited, but seen from all around."""
LARGE_SHARE: Final = 0.04
"""Share of the grid from which on a value is taken for a wall or floor, and touched last."""
MAX_PLACES: Final = 3000


@dataclass(slots=True)
class Plan:
    """Actions to a target and what the last of them enters."""

    actions: list[Action]
    values: frozenset[int]
    cost: int


def find_route(
    walker: "Walker", grid: Grid, mask: NDArray[np.uint8], tried: TriedAt
) -> Plan | None:
    """The cheapest way to something that promises something; None if there is nothing."""
    if walker.box is None:
        return None
    grid = walker.seen.map(grid)
    goal = LATER_GOAL if walker.collects(grid) else GOAL
    units = {id_: unit for id_ in walker.relative if (unit := walker.unit(id_)) is not None}
    if not units:
        return None
    counts = np.bincount(grid.ravel(), minlength=16)
    large = {value for value in range(16) if counts[value] > LARGE_SHARE * grid.size}
    reopen = {value for value in walker.reopen if value not in large}
    blocked = walker.blocked - reopen
    slides = walker.slides
    start = walker.box[:2]
    width, height = walker.box[2] - walker.box[0], walker.box[3] - walker.box[1]
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
                hit = values_in(grid, target, box) - walker.values
                if not hit <= walker.passable or hit & walker.deadly or hit & walker.treasure:
                    break
                if hit & set(walker.goals) and (not walker.is_spent(hit) or walker.waits(hit)):
                    break
                here = target[:2]
                hit = frozenset()
                if not slides:
                    break
            cost = _cost(walker, hit, blocked, large, goal)
            if cost is not None:
                candidate = (distance + 1 + cost, place, id_, hit)
                if best is None or candidate[0] < best[0]:
                    best = candidate
            if here != place and here not in came:
                came[here] = (place, id_)
                depth[here] = distance + 1
                queue.append(here)
                there = (here[0], here[1], here[0] + width, here[1] + height)
                if here not in walker.visited:
                    worth = NEW_PLACE if walker.seen.unseen(there) else NOTHING_NEW
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


def _cost(
    walker: "Walker", hit: frozenset[int], blocked: set[int], large: set[int], goal: int
) -> int | None:
    """What a target of these values costs beyond its distance; None for no target."""
    if not hit or hit & walker.deadly:
        return None
    if hit & walker.treasure:
        return GOAL if hit & set(walker.goals) else TREASURE
    if hit & set(walker.goals):
        if not walker.is_spent(hit):
            return goal
        # A goal that did nothing is tried again after something happened.
        return SPENT_GOAL if walker.waits(hit) else None
    if hit & blocked or hit & walker.pushed:
        return None
    unknown = hit - walker.passable
    if not unknown:
        return None
    return LARGE_AREA if unknown & large else UNKNOWN
