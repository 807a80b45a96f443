"""The practice games' rules as pure functions of a hashable state.

The same rules are played through the engine (`sysone.arc.practice.engine`) and searched for
baselines (`sysone.arc.practice.search`). They know nothing of either.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Cell = tuple[int, int]
Move = tuple[int, Cell | None]
"""An action id and, for a click, the logical cell."""
Cells = NDArray[np.int8]
S = TypeVar("S", bound=Hashable)

DIRECTIONS: Final[dict[int, Cell]] = {1: (0, -1), 2: (0, 1), 3: (-1, 0), 4: (1, 0)}
WON: Final = "won"
LOST: Final = "lost"
GOES_ON: Final = ""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[S]):
    """What an action leads to, with the states that are shown on the way."""

    state: S
    verdict: str = GOES_ON
    shown: tuple[S, ...] = ()


class Rules(Protocol[S]):
    """One level."""

    @property
    def size(self) -> Cell:
        """Width and height in cells."""

    @property
    def action_ids(self) -> tuple[int, ...]:
        """The ids that a game of such levels offers."""

    def start(self) -> S:
        """The state that the level begins with."""

    def step(self, state: S, action_id: int, cell: Cell | None) -> Outcome[S]:
        """What an action leads to; one that does nothing gives the same state."""

    def moves(self, state: S) -> Iterator[Move]:
        """What a search tries: every action that could matter."""

    def draw(self, state: S) -> Cells:
        """The picture, int8 [height, width]."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one game."""

    floor: int
    wall: int
    player: int
    goal: int
    items: tuple[int, ...]
    """Colours for everything else, in the order of need."""


@dataclass(frozen=True, slots=True)
class WalkState:
    """Where everything is in a `Walk`."""

    player: Cell
    aloft: bool = False
    """Gravity alone: jumped, and not fallen yet."""
    keys: frozenset[int] = frozenset()
    doors: frozenset[Cell] = frozenset()
    """Opened ones."""
    coins: frozenset[Cell] = frozenset()
    """Those still lying there."""
    boxes: frozenset[Cell] = frozenset()
    holes: frozenset[Cell] = frozenset()
    """Brittle floor that gave way."""
    tick: int = 0
    """Where the hazards are on their paths."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A player on a grid, with any of the walking mechanics."""

    width: int
    height: int
    palette: Palette
    player: Cell
    walls: frozenset[Cell]
    goal: Cell | None = None
    keys: dict[Cell, int] = field(default_factory=dict)
    """Cell of a key to the number of its door colour."""
    doors: dict[Cell, int] = field(default_factory=dict)
    boxes: frozenset[Cell] = frozenset()
    pads: frozenset[Cell] = frozenset()
    coins: frozenset[Cell] = frozenset()
    brittle: frozenset[Cell] = frozenset()
    hazards: tuple[tuple[Cell, ...], ...] = ()
    """Each a closed path, one cell an action."""
    slides: bool = False
    falls: bool = False
    animated: bool = False
    fog: int = 0
    """Cells that can be seen around the player; 0: all."""
    undo: bool = False

    @property
    def size(self) -> Cell:
        """Width and height in cells."""
        return self.width, self.height

    @property
    def action_ids(self) -> tuple[int, ...]:
        """Four directions, and undo where the game has it."""
        return (1, 2, 3, 4, 7) if self.undo else (1, 2, 3, 4)

    @property
    def period(self) -> int:
        """Actions after which the hazards are where they were."""
        return int(np.lcm.reduce([len(path) for path in self.hazards])) if self.hazards else 1

    def start(self) -> WalkState:
        """The state that the level begins with."""
        return WalkState(self.player, coins=self.coins, boxes=self.boxes)

    def moves(self, state: WalkState) -> Iterator[Move]:
        """The four directions."""
        for action_id in DIRECTIONS:
            yield action_id, None

    def step(self, state: WalkState, action_id: int, cell: Cell | None) -> Outcome[WalkState]:
        """One action: the player moves, then the hazards, then it is judged."""
        if action_id not in DIRECTIONS:
            return Outcome(state)
        before = state
        direction = DIRECTIONS[action_id]
        shown: list[WalkState] = []
        if self.falls:
            state = self._leap(state, direction)
        else:
            while True:
                moved = self._move(state, direction)
                if moved is state:
                    break
                state = moved
                shown.append(state)
                if not (self.slides or self.animated) or self._verdict(state):
                    break
        hit = False
        if self.hazards:
            there = self._hazard_cells(state.tick)
            state = replace(state, tick=(state.tick + 1) % self.period)
            here = self._hazard_cells(state.tick)
            # Changing places with a hazard is a hit as well.
            crossed = state.player in there and before.player in here
            hit = state.player in here or crossed
        verdict = LOST if hit else self._verdict(state)
        return Outcome(state, verdict, tuple(shown[:-1]) if self.animated else ())

    def _verdict(self, state: WalkState) -> str:
        at_goal = self.goal is None or state.player == self.goal
        return WON if at_goal and not state.coins and self.pads <= state.boxes else GOES_ON

    def _blocked(self, state: WalkState, cell: Cell) -> bool:
        x, y = cell
        if not (0 <= x < self.width and 0 <= y < self.height) or cell in self.walls:
            return True
        if cell in state.holes:
            return True
        door = self.doors.get(cell)
        return door is not None and cell not in state.doors and door not in state.keys

    def _move(self, state: WalkState, direction: Cell) -> WalkState:
        """One cell on; the same state where that is not possible."""
        x, y = state.player
        dx, dy = direction
        target = (x + dx, y + dy)
        if self._blocked(state, target):
            return state
        boxes = state.boxes
        if target in boxes:
            beyond = (x + 2 * dx, y + 2 * dy)
            if self._blocked(state, beyond) or beyond in boxes or beyond in self.doors:
                return state
            boxes = boxes - {target} | {beyond}
        holes = state.holes | {state.player} if state.player in self.brittle else state.holes
        doors = state.doors | {target} if target in self.doors else state.doors
        keys = state.keys | {self.keys[target]} if target in self.keys else state.keys
        coins = state.coins - {target} if target in state.coins else state.coins
        return replace(
            state, player=target, boxes=boxes, holes=holes, doors=doors, keys=keys, coins=coins
        )

    def _leap(self, state: WalkState, direction: Cell) -> WalkState:
        """With gravity: up is a jump of two cells that lasts until the next action."""
        if direction == (0, -1):
            if state.aloft:
                return self._fall(replace(state, aloft=False))
            jumped = self._move(state, direction)
            jumped = jumped if jumped is state else self._move(jumped, direction)
            return state if jumped is state else replace(jumped, aloft=True)
        moved = self._move(state, direction)
        return self._fall(replace(moved, aloft=False))

    def _fall(self, state: WalkState) -> WalkState:
        while True:
            lower = self._move(state, (0, 1))
            if lower is state or state.player == self.goal:
                return state
            state = lower

    def _hazard_cells(self, tick: int) -> set[Cell]:
        return {path[tick % len(path)] for path in self.hazards}

    def draw(self, state: WalkState) -> Cells:
        """Floor, walls, things, hazards, the player on top; fog over what is far."""
        colours = self.palette
        pad, brittle, coin, box, hazard, *locks = colours.items
        picture = np.full((self.height, self.width), colours.floor, np.int8)

        def paint(cells: frozenset[Cell] | set[Cell], colour: int) -> None:
            for x, y in cells:
                picture[y, x] = colour

        paint(self.walls, colours.wall)
        paint(state.holes, colours.wall)
        paint(self.brittle - state.holes, brittle)
        paint(self.pads, pad)
        for cell, lock in self.doors.items():
            if cell not in state.doors:
                paint({cell}, locks[2 * lock])
        for cell, lock in self.keys.items():
            if lock not in state.keys:
                paint({cell}, locks[2 * lock + 1])
        paint(state.coins, coin)
        if self.goal is not None:
            paint({self.goal}, colours.goal)
        paint(state.boxes, box)
        paint(self._hazard_cells(state.tick), hazard)
        paint({state.player}, colours.player)
        if self.fog:
            x, y = state.player
            rows, columns = np.mgrid[: self.height, : self.width]
            far = np.maximum(np.abs(columns - x), np.abs(rows - y)) > self.fog
            picture[far] = colours.wall
        return picture


Tiles = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Board:
    """What click games share: square tiles with a gap of floor between them."""

    columns: int
    rows: int
    palette: Palette

    @property
    def size(self) -> Cell:
        """Tiles are two cells wide with one between, and one around."""
        return 3 * self.columns + 1, 3 * self.rows + 1 + self.legend_height

    @property
    def legend_height(self) -> int:
        """Cells above the board for what it is to become."""
        return 0

    @property
    def action_ids(self) -> tuple[int, ...]:
        """Clicks alone."""
        return (6,)

    def tile_at(self, cell: Cell | None) -> int | None:
        """The tile that a logical cell belongs to."""
        if cell is None:
            return None
        x, y = cell[0] - 1, cell[1] - 1 - self.legend_height
        if x < 0 or y < 0 or x % 3 == 2 or y % 3 == 2:
            return None
        column, row = x // 3, y // 3
        if column >= self.columns or row >= self.rows:
            return None
        return row * self.columns + column

    def corner(self, tile: int) -> Cell:
        """The upper left cell of a tile."""
        row, column = divmod(tile, self.columns)
        return 1 + 3 * column, 1 + 3 * row + self.legend_height

    def clicks(self) -> Iterator[Move]:
        """One click for each tile."""
        for tile in range(self.columns * self.rows):
            yield 6, self.corner(tile)

    def paint(self, tiles: Tiles) -> Cells:
        """The board with a colour for each tile."""
        width, height = self.size
        picture = np.full((height, width), self.palette.floor, np.int8)
        for tile, colour in enumerate(tiles):
            x, y = self.corner(tile)
            picture[y : y + 2, x : x + 2] = colour
        return picture


@dataclass(frozen=True, slots=True)
class Toggle(Board):
    """Lights out: a click switches a tile and its neighbours; all are to be off."""

    lit: Tiles = ()

    def start(self) -> Tiles:
        """The state that the level begins with: 1 for a tile that is on."""
        return self.lit

    def moves(self, state: Tiles) -> Iterator[Move]:
        """One click for each tile."""
        return self.clicks()

    def step(self, state: Tiles, action_id: int, cell: Cell | None) -> Outcome[Tiles]:
        """Switch the clicked tile and its neighbours."""
        tile = self.tile_at(cell) if action_id == 6 else None
        if tile is None:
            return Outcome(state)
        row, column = divmod(tile, self.columns)
        tiles = list(state)
        for dx, dy in ((0, 0), *DIRECTIONS.values()):
            if 0 <= column + dx < self.columns and 0 <= row + dy < self.rows:
                tiles[(row + dy) * self.columns + column + dx] ^= 1
        return Outcome(tuple(tiles), GOES_ON if any(tiles) else WON)

    def draw(self, state: Tiles) -> Cells:
        """Two colours."""
        return self.paint(tuple(self.palette.items[value] for value in state))


@dataclass(frozen=True, slots=True)
class Cycle(Board):
    """Each click gives a tile its next colour; the board is to look like the legend above it."""

    first: Tiles = ()
    wanted: Tiles = ()
    n_colours: int = 3

    @property
    def legend_height(self) -> int:
        """A small copy of the board above it, and a line between them."""
        return self.rows + 2

    def start(self) -> Tiles:
        """The state that the level begins with."""
        return self.first

    def moves(self, state: Tiles) -> Iterator[Move]:
        """One click for each tile."""
        return self.clicks()

    def step(self, state: Tiles, action_id: int, cell: Cell | None) -> Outcome[Tiles]:
        """The clicked tile's next colour."""
        tile = self.tile_at(cell) if action_id == 6 else None
        if tile is None:
            return Outcome(state)
        tiles = list(state)
        tiles[tile] = (tiles[tile] + 1) % self.n_colours
        return Outcome(tuple(tiles), WON if tuple(tiles) == self.wanted else GOES_ON)

    def draw(self, state: Tiles) -> Cells:
        """The board, and the legend in the upper left."""
        picture = self.paint(tuple(self.palette.items[value] for value in state))
        picture[self.rows + 1] = self.palette.wall
        for tile, value in enumerate(self.wanted):
            row, column = divmod(tile, self.columns)
            picture[row, 1 + column] = self.palette.items[value]
        return picture


@dataclass(frozen=True, slots=True)
class Ordered(Board):
    """Tiles are clicked in the order that the legend shows; a wrong one starts it anew."""

    colours: Tiles = ()
    """Index of each tile's colour; -1 for no tile."""
    order: Tiles = ()

    @property
    def legend_height(self) -> int:
        """One row of the order, and a line below it."""
        return 2

    def start(self) -> int:
        """The state: how many were clicked rightly."""
        return 0

    def moves(self, state: int) -> Iterator[Move]:
        """One click for each tile."""
        return self.clicks()

    def step(self, state: int, action_id: int, cell: Cell | None) -> Outcome[int]:
        """On with the right tile, back to the start with a wrong one."""
        tile = self.tile_at(cell) if action_id == 6 else None
        if tile is None or self.colours[tile] < 0:
            return Outcome(state)
        if self.colours[tile] == self.order[state]:
            return Outcome(state + 1, WON if state + 1 == len(self.order) else GOES_ON)
        return Outcome(0)

    def draw(self, state: int) -> Cells:
        """Done tiles are grey."""
        done = set(self.order[:state])
        palette = self.palette
        tiles = tuple(
            palette.floor
            if colour < 0
            else palette.wall
            if colour in done
            else palette.items[colour]
            for colour in self.colours
        )
        picture = self.paint(tiles)
        picture[1] = palette.wall
        for place, colour in enumerate(self.order):
            picture[0, 1 + place] = palette.items[colour]
        return picture


@dataclass(frozen=True, slots=True)
class StackState:
    """Columns of blocks from the bottom up, and the column that is picked up from."""

    columns: tuple[Tiles, ...]
    held: int = -1


@dataclass(frozen=True, slots=True)
class Stack(Board):
    """Sorting: a click takes the top block of a column, the next puts it onto another."""

    first: tuple[Tiles, ...] = ()

    def start(self) -> StackState:
        """The state that the level begins with."""
        return StackState(self.first)

    def moves(self, state: StackState) -> Iterator[Move]:
        """One click for each column."""
        for column in range(self.columns):
            yield 6, self.corner(column)

    def step(self, state: StackState, action_id: int, cell: Cell | None) -> Outcome[StackState]:
        """Pick up, or put down where there is room."""
        tile = self.tile_at(cell) if action_id == 6 else None
        if tile is None:
            return Outcome(state)
        column = tile % self.columns
        if state.held < 0:
            return Outcome(replace(state, held=column) if state.columns[column] else state)
        if column == state.held:
            return Outcome(replace(state, held=-1))
        if len(state.columns[column]) >= self.rows:
            return Outcome(state)
        columns = list(state.columns)
        block = columns[state.held][-1]
        columns[state.held] = columns[state.held][:-1]
        columns[column] = (*columns[column], block)
        done = StackState(tuple(columns))
        sorted_ = all(len(set(blocks)) <= 1 for blocks in columns)
        # Each colour in one column of its own, not spread over two.
        used = [blocks[0] for blocks in columns if blocks]
        return Outcome(done, WON if sorted_ and len(used) == len(set(used)) else GOES_ON)

    def draw(self, state: StackState) -> Cells:
        """Blocks in columns; the held one in the goal's colour."""
        tiles = [self.palette.floor] * (self.columns * self.rows)
        for column, blocks in enumerate(state.columns):
            for level, block in enumerate(blocks):
                top = column == state.held and level == len(blocks) - 1
                colour = self.palette.goal if top else self.palette.items[block]
                tiles[(self.rows - 1 - level) * self.columns + column] = colour
        picture = self.paint(tuple(tiles))
        for column in range(self.columns):
            x, _ = self.corner(column)
            picture[-1, x : x + 2] = self.palette.wall
        return picture
