"""What was learnt in a game: what actions do, and which masked states lead where."""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc import wording
from sysone.arc.actions import CLICK_ID, RESET_ID, Action, simple
from sysone.arc.frame import GAME_OVER
from sysone.arc.moved import Moved, find_moves
from sysone.arc.observe import Observation
from sysone_core import grids

LINES: Final = 8
"""Lines of the summary for a model's instruction."""
MANY: Final = 9
"""Visits of a state that are told apart."""
MOVER_SIDE: Final = 24
"""Cells that a thing which moves extends over at most: more is several things of one colour."""

NO_OP, MOVED_ON, DIED, GAINED = "no-op", "changed", "died", "gained"


@dataclass(slots=True)
class Effect:
    """What an action did so far in a game."""

    tried: int = 0
    changed: int = 0
    """Times that the masked frame differed."""
    cells: int = 0
    """Changed cells outside the HUD, all times together."""
    shifts: Counter[tuple[int, int]] = field(default_factory=Counter)
    deaths: int = 0
    gains: int = 0


@dataclass(frozen=True, slots=True)
class Edge:
    """What an action led to in one masked state."""

    kind: str
    target: int
    """Masked hash afterwards; for a no-op the same."""


@dataclass(slots=True)
class Node:
    """One masked state of a level."""

    edges: dict[Action, Edge] = field(default_factory=dict)
    visits: int = 0
    promising: tuple[Action, ...] = ()
    """Clicks that an explorer would like to try here."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One action as it was seen; grids are kept so that another mask can judge it anew."""

    before: NDArray[np.uint8]
    action: Action
    after: NDArray[np.uint8]
    kind: str


@dataclass(frozen=True, slots=True)
class GoalEvidence:
    """The frames around a gained level."""

    before: NDArray[np.uint8]
    action: Action
    after: NDArray[np.uint8]
    level: int


@dataclass(slots=True)
class Noted:
    """What one action turned out to be."""

    kind: str
    moves: list[Moved]
    novel: bool
    """Whether the masked state was never seen in this level."""


class Memory:
    """Of one game: effects and goals over all its levels, the graph of the present one."""

    def __init__(self) -> None:
        self.effects: dict[str, Effect] = {}
        self.goals: list[GoalEvidence] = []
        self.graph: dict[int, Node] = {}
        self._transitions: list[Transition] = []
        self._ways: dict[frozenset[int], dict[int, Counter[tuple[int, int]]]] = {}
        """Of things by their values: by how much each action moved them."""
        self._components: tuple[NDArray[np.uint8], grids.Components] | None = None

    def start_level(self, observation: Observation) -> None:
        """Forget the graph of the level before."""
        self.graph = {observation.masked_hash: Node(visits=1)}
        self._transitions = []

    def node(self, masked_hash: int) -> Node:
        """The node of a masked state, made if need be."""
        found = self.graph.get(masked_hash)
        if found is None:
            found = self.graph[masked_hash] = Node()
        return found

    def edge(self, observation: Observation, action: Action) -> Edge | None:
        """What an action is known to do in an observed state."""
        node = self.graph.get(observation.masked_hash)
        return None if node is None else node.edges.get(action)

    def note(self, before: Observation, action: Action, after: Observation) -> Noted:
        """Learn from one action. Empty answers teach nothing."""
        if after.empty and after.state != GAME_OVER:
            return Noted(NO_OP, [], False)
        if action.id == RESET_ID:
            novel = after.masked_hash not in self.graph
            self.node(after.masked_hash).visits += 1
            return Noted(MOVED_ON, [], novel)
        if after.mask_changed:
            self._rekey(after.mask)
        gained = after.levels_completed > before.levels_completed
        died = after.state == GAME_OVER
        # The mask may be another than that of the earlier observation's hash.
        masked_before = (
            grids.frame_hash(before.grid, after.mask)
            if after.mask_changed and before.grid.shape == after.mask.shape
            else before.masked_hash
        )
        same = masked_before == after.masked_hash
        kind = GAINED if gained else DIED if died else NO_OP if same else MOVED_ON
        effect = self._effect(action, before)
        effect.tried += 1
        effect.gains += gained
        effect.deaths += died
        moves: list[Moved] = []
        if kind == MOVED_ON or (died and not after.empty):
            moves = self._moves(before.grid, after)
        if kind == MOVED_ON:
            effect.changed += 1
            effect.cells += int(np.count_nonzero(after.mask.ravel()[after.changed] == 0))
            if moves:
                effect.shifts[moves[0].dx, moves[0].dy] += 1
            if not action.is_click:
                self._learn_ways(action.id, moves)
        self.node(masked_before).edges[action] = Edge(kind, after.masked_hash)
        novel = False
        if gained:
            self.goals.append(
                GoalEvidence(before.grid, action, after.grid, before.levels_completed)
            )
            self.start_level(after)
        else:
            novel = after.masked_hash not in self.graph
            self.node(after.masked_hash).visits += 1
            self._transitions.append(Transition(before.grid, action, after.grid, kind))
        return Noted(kind, moves, novel)

    def _moves(self, before: NDArray[np.uint8], after: Observation) -> list[Moved]:
        """Moves, with the components of the last frame kept for the next call."""
        kept = self._components
        old = kept[1] if kept is not None and kept[0] is before else grids.components(before)
        new = grids.components(after.grid)
        self._components = (after.grid, new)
        return find_moves(before, after.grid, after.changed, after.mask, old, new)

    def _effect(self, action: Action, observation: Observation) -> Effect:
        key = _key(action, observation)
        found = self.effects.get(key)
        if found is None:
            found = self.effects[key] = Effect()
        return found

    def path(
        self, start: int, wanted: Callable[[int, Node], bool], limit: int = 5000
    ) -> list[Action] | None:
        """Actions along known edges to the nearest state that is wanted; None if there is none."""
        came: dict[int, tuple[int, Action] | None] = {start: None}
        queue = deque([start])
        while queue and len(came) < limit:
            place = queue.popleft()
            node = self.graph.get(place)
            if node is None:
                continue
            if wanted(place, node):
                actions: list[Action] = []
                step = came[place]
                while step is not None:
                    actions.append(step[1])
                    step = came[step[0]]
                return actions[::-1]
            for action, edge in node.edges.items():
                if edge.kind == MOVED_ON and edge.target not in came:
                    came[edge.target] = (place, action)
                    queue.append(edge.target)
        return None

    def lines(self, seen: Observation | None = None) -> list[str]:
        """At most eight short lines on what is known, for a model's instruction.

        With an observation the first ones tell what was tried in its masked state, and where the
        thing is that actions move.
        """
        told = [] if seen is None else [self._here(seen), self._mover_line(seen)]
        lines = [line for line in told if line]
        ranked = sorted(self.effects.items(), key=lambda pair: (-pair[1].tried, pair[0]))
        for key, effect in ranked[: LINES - len(lines)]:
            text = f"{key}: changed {effect.changed} of {effect.tried}"
            if effect.changed:
                text += f", {effect.cells / effect.changed:.0f} cells"
            if effect.shifts:
                (dx, dy), _ = effect.shifts.most_common(1)[0]
                text += f", moves by x{dx:+d} y{dy:+d}"
            if effect.deaths:
                text += f", {effect.deaths} deaths"
            if effect.gains:
                text += f", {effect.gains} levels"
            lines.append(text)
        return lines

    def _here(self, seen: Observation) -> str:
        """What each simple action is known to do in this masked state."""
        node = self.graph.get(seen.masked_hash)
        edges = {} if node is None else node.edges
        told = []
        for id_ in sorted(seen.available_actions):
            if id_ in (RESET_ID, CLICK_ID):
                continue
            edge = edges.get(simple(id_))
            if edge is None:
                what = wording.UNTRIED
            elif edge.kind == NO_OP:
                what = wording.IDLE
            elif edge.kind == DIED:
                what = wording.DEADLY
            else:
                target = self.graph.get(edge.target)
                what = f"{wording.SEEN} {min(MANY, 1 if target is None else target.visits)}"
            told.append(f"{id_} {what}")
        return wording.HERE + ", ".join(told) if told else ""

    def _learn_ways(self, action_id: int, moves: Iterable[Moved]) -> None:
        for move in moves:
            ways = self._ways.setdefault(move.values, {}).setdefault(action_id, Counter())
            ways[move.dx, move.dy] += 1

    def _mover(self) -> frozenset[int] | None:
        """Values of the thing that actions move each its own way; None: not known."""

        def obeys(values: frozenset[int]) -> tuple[int, int]:
            ways = [
                {(int(np.sign(dx)), int(np.sign(dy))) for dx, dy in steps}
                for steps in self._ways[values].values()
            ]
            single = {next(iter(found)) for found in ways if len(found) == 1}
            return len(single) - sum(len(found) > 1 for found in ways), -min(values)

        best = max(self._ways, key=obeys, default=None)
        return best if best is not None and obeys(best)[0] > 0 else None

    def mover(self, seen: Observation) -> tuple[int, int, int] | None:
        """Cell and value of the thing that actions move; None: not known, or not in sight."""
        values = self._mover()
        if values is None:
            return None
        cells = np.isin(seen.grid, list(values)) & (seen.mask == 0)
        rows, columns = np.flatnonzero(cells.any(axis=1)), np.flatnonzero(cells.any(axis=0))
        if not len(rows):
            return None
        x0, x1, y0, y1 = int(columns[0]), int(columns[-1]), int(rows[0]), int(rows[-1])
        if max(x1 - x0, y1 - y0) >= MOVER_SIDE:
            return None
        return (x0 + x1) // 2, (y0 + y1) // 2, min(values)

    def _mover_line(self, seen: Observation) -> str:
        """Where the mover is, and where each action would bring it if nothing is in its way."""
        found, values = self.mover(seen), self._mover()
        if found is None or values is None:
            return ""
        x, y, value = found
        height, width = seen.grid.shape
        told = []
        for id_, steps in sorted(self._ways[values].items()):
            # The shortest: a thing that slides looks at the cell beside it.
            dx, dy = min(steps, key=lambda step: (abs(step[0]) + abs(step[1]), step))
            if 0 <= x + dx < width and 0 <= y + dy < height:
                told.append(wording.TO.format(id=id_, x=x + dx, y=y + dy))
        return "".join([f"{wording.MOVER}x={x} y={y}, colour {value:x}", *told])

    def _rekey(self, mask: NDArray[np.uint8]) -> None:
        """Build the level's graph anew with another mask."""
        self.graph = {}
        kept = [item for item in self._transitions if item.before.shape == mask.shape]
        for item, before, after in zip(
            kept,
            _hashes((item.before for item in kept), mask),
            _hashes((item.after for item in kept), mask),
            strict=True,
        ):
            kind = item.kind
            if kind in (NO_OP, MOVED_ON):
                kind = NO_OP if before == after else MOVED_ON
            self.node(before).edges[item.action] = Edge(kind, after)
            self.node(after).visits += 1


def _hashes(pictures: Iterable[NDArray[np.uint8]], mask: NDArray[np.uint8]) -> list[int]:
    listed = list(pictures)
    if not listed:
        return []
    return [int(value) for value in grids.hash_batch(np.stack(listed), mask)[:, 1]]


def _key(action: Action, observation: Observation) -> str:
    if not action.is_click:
        return action.text
    height, width = observation.grid.shape
    value = int(observation.grid[min(action.y, height - 1), min(action.x, width - 1)])
    return f"ACTION6 on {value:x}"
