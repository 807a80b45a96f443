"""What was learnt in a game: what actions do, and which masked states lead where."""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc.actions import RESET_ID, Action
from sysone.arc.frame import GAME_OVER
from sysone.arc.moved import Moved, find_moves
from sysone.arc.observe import Observation
from sysone_core import grids

LINES: Final = 8
"""Lines of the summary for a model's instruction."""

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

    def lines(self) -> list[str]:
        """At most eight short lines on what actions do, for a model's instruction."""
        ranked = sorted(self.effects.items(), key=lambda pair: (-pair[1].tried, pair[0]))
        lines = []
        for key, effect in ranked[:LINES]:
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
