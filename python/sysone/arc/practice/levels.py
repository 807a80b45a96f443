"""Levels from seeds: every mechanic has a generator, and walking mechanics can be combined."""

import random
from collections.abc import Sequence
from typing import Any, Final
from zlib import crc32

from sysone.arc.practice.rules import (
    Cell,
    Cycle,
    Ordered,
    Palette,
    Rules,
    Stack,
    Toggle,
    Walk,
)
from sysone.arc.practice.search import solve

WALKING: Final = (
    "maze",
    "key",
    "push",
    "slide",
    "gravity",
    "collect",
    "hazard",
    "undo",
    "animated",
    "fog",
)
CLICKING: Final = ("toggle", "cycle", "ordered", "stack")
MECHANICS: Final = (*WALKING, *CLICKING)
HELD_OUT: Final = ("gravity", "hazard", "ordered")
"""Never in a game that is generated for training."""

TRIES: Final = 400
MAX_STATES: Final = 60_000


def palette_of(seed: str) -> Palette:
    """Colours of a game; floor and wall are greys or black, as in most games."""
    rng = random.Random(crc32(f"palette:{seed}".encode()))
    greys = [0, 1, 2, 3, 4, 5]
    floor = rng.choice([5, 5, 0, 4, 1])
    wall = rng.choice([grey for grey in greys if abs(grey - floor) >= 2])
    bright = [6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
    rng.shuffle(bright)
    player, goal, *items = bright
    rest = [grey for grey in greys if grey not in (floor, wall)]
    return Palette(floor, wall, player, goal, (*items, *rest))


def level(mechanics: tuple[str, ...], number: int, seed: str, attempt: int) -> Rules[Any] | None:
    """One try at level ``number`` (0 first) of a game; None where the try has no room.

    Whether it can be solved is not looked at: `find` does that, and a game's file keeps its answer.

    Raises:
        ValueError: unknown mechanics, or some that cannot be combined in one level.
    """
    unknown = [name for name in mechanics if name not in MECHANICS]
    if unknown or not mechanics:
        raise ValueError(f"mechanics are {mechanics}, expected some of {', '.join(MECHANICS)}")
    clicking = [name for name in mechanics if name in CLICKING]
    if clicking and len(mechanics) > 1:
        raise ValueError(f"{clicking[0]} cannot be combined with {mechanics} in one level")
    palette = palette_of(seed)
    rng = random.Random(crc32(f"{seed}:{number}:{attempt}:{'+'.join(mechanics)}".encode()))
    if clicking:
        return _click_level(clicking[0], number, palette, rng)
    return _walk_level(frozenset(mechanics), number, palette, rng)


def find(
    mechanics: tuple[str, ...],
    number: int,
    seed: str,
    tries: int = TRIES,
    max_states: int = MAX_STATES,
) -> tuple[int, int]:
    """The first try that can be solved, and not in a few actions; and the actions that it takes.

    A level whose search would hold more than ``max_states`` states is passed over.

    Raises:
        ValueError: mechanics as in `level`, or no level found for this seed.
    """
    for attempt in range(tries):
        rules = level(mechanics, number, seed, attempt)
        solution = None if rules is None else solve(rules, max_states)
        if solution is not None and len(solution) >= _shortest(mechanics, number):
            return attempt, len(solution)
    raise ValueError(f"no level {number} of {mechanics} for the seed {seed!r}")


def _shortest(mechanics: Sequence[str], number: int) -> int:
    """The fewest actions that a level may be solved in."""
    name = mechanics[0]
    if name == "push":
        return 3 + number
    if name in ("slide", "animated", "gravity", "toggle"):
        return 3 + number // 2
    if name in ("ordered", "cycle", "stack"):
        return 3
    return 5 + 2 * number


def _walk_level(
    mechanics: frozenset[str], number: int, palette: Palette, rng: random.Random
) -> Walk | None:
    # 10, 11, 12, 13 and 14 cells leave a margin of the 64 pixels in which a HUD has room.
    side = 10 + number % 5
    if mechanics & {"push", "undo"}:
        side = 8 + number // 2  # their states are many
    inner = [(x, y) for y in range(1, side - 1) for x in range(1, side - 1)]
    border = {(x, y) for y in range(side) for x in range(side)} - set(inner)
    if "maze" in mechanics or "fog" in mechanics:
        walls = border | _maze(side, rng)
    elif "gravity" in mechanics:
        walls = border | _terrain(side, rng)
    else:
        share = 0.2 if mechanics & {"slide", "animated"} else 0.12
        walls = border | {cell for cell in inner if rng.random() < share}
    free = [cell for cell in inner if cell not in walls]
    if "gravity" in mechanics:
        free = [(x, y) for x, y in free if (x, y + 1) in walls]
    rng.shuffle(free)
    if len(free) < (4 if "gravity" in mechanics else 14):
        return None
    player, goal = free.pop(), free.pop()
    extra: dict[str, Any] = {}
    wants_goal: Cell | None = goal
    if "key" in mechanics:
        doors = _doors_around(goal, walls, side)
        n_locks = 1 if number < 3 else 2
        cells = [cell for cell in free if cell not in doors]
        if not doors or len(cells) < n_locks + 1:
            return None
        extra["doors"] = {cell: index % n_locks for index, cell in enumerate(sorted(doors))}
        extra["keys"] = {cells[index]: index for index in range(n_locks)}
        free = [cell for cell in free if cell not in doors and cell not in extra["keys"]]
        if player in doors:
            return None
    if "push" in mechanics:
        n_boxes = 1 if number < 2 else 2
        boxes = [(x, y) for x, y in free if 1 < x < side - 2 and 1 < y < side - 2][:n_boxes]
        if len(boxes) < n_boxes:
            return None
        free = [cell for cell in free if cell not in boxes]
        extra["boxes"], extra["pads"] = frozenset(boxes), frozenset(free[:n_boxes])
        free = free[n_boxes:]
        if not mechanics & {"maze", "key", "collect", "fog"}:
            wants_goal = None
    if "collect" in mechanics:
        n_coins = 3 + number // 2
        extra["coins"], free = frozenset(free[:n_coins]), free[n_coins:]
        if not mechanics & {"maze", "key", "fog"}:
            wants_goal = None
    if "undo" in mechanics:
        extra["brittle"] = frozenset(free[: len(free) // 2])
    if "hazard" in mechanics:
        extra["hazards"] = _hazards(walls, player, goal, 1 + number // 2, side, rng)
        if not extra["hazards"]:
            return None
    return Walk(
        side,
        side,
        palette,
        player,
        frozenset(walls),
        wants_goal,
        slides="slide" in mechanics,
        animated="animated" in mechanics,
        falls="gravity" in mechanics,
        fog=2 if "fog" in mechanics else 0,
        undo="undo" in mechanics,
        **extra,
    )


def _maze(side: int, rng: random.Random) -> set[Cell]:
    """Walls of a maze by depth-first search, with some taken away so that it has loops."""
    walls = {(x, y) for y in range(1, side - 1) for x in range(1, side - 1)}
    walls -= {(1, 1)}
    stack = [(1, 1)]
    while stack:
        x, y = stack[-1]
        ways = [
            (x + dx, y + dy, x + dx // 2, y + dy // 2)
            for dx, dy in ((0, -2), (0, 2), (-2, 0), (2, 0))
            if (x + dx, y + dy) in walls
        ]
        if not ways:
            stack.pop()
            continue
        to_x, to_y, by_x, by_y = rng.choice(ways)
        walls -= {(to_x, to_y), (by_x, by_y)}
        stack.append((to_x, to_y))
    return {cell for cell in walls if rng.random() > 0.12}


def _terrain(side: int, rng: random.Random) -> set[Cell]:
    """Columns of different heights, and some ledges."""
    walls: set[Cell] = set()
    height = 1
    for x in range(1, side - 1):
        height = min(max(height + rng.choice([-2, -1, 0, 1, 1, 2]), 0), side - 5)
        walls |= {(x, side - 2 - step) for step in range(height)}
        if rng.random() < 0.2:
            walls.add((x, rng.randrange(2, side - 3)))
    return walls


def _doors_around(goal: Cell, walls: set[Cell], side: int) -> set[Cell]:
    x, y = goal
    around = {(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)}
    return {cell for cell in around if cell not in walls}


def _hazards(
    walls: set[Cell], player: Cell, goal: Cell, count: int, side: int, rng: random.Random
) -> tuple[tuple[Cell, ...], ...]:
    paths: list[tuple[Cell, ...]] = []
    for _ in range(60):
        if len(paths) == count:
            break
        x, y = rng.randrange(1, side - 1), rng.randrange(1, side - 1)
        dx, dy = rng.choice([(1, 0), (0, 1)])
        way: list[Cell] = []
        while (x, y) not in walls and len(way) < 4:
            way.append((x, y))
            x, y = x + dx, y + dy
        near = {(player[0] + i, player[1] + j) for i in range(-1, 2) for j in range(-1, 2)}
        # Paths of three or four cells: periods of 4 and 6, so that the search stays small.
        if len(way) >= 3 and goal not in way and not near & set(way):
            paths.append((*way, *way[-2:0:-1]))
    return tuple(paths)


def _click_level(name: str, number: int, palette: Palette, rng: random.Random) -> Rules[Any]:
    if name == "toggle":
        side = 2 if number == 0 else 3
        board = Toggle(side, side, palette, (0,) * side * side)
        lit: tuple[int, ...] = board.lit
        for tile in rng.sample(range(side * side), min(3 + number // 2, side * side)):
            lit = board.step(lit, 6, board.corner(tile)).state
        return Toggle(side, side, palette, lit)
    if name == "cycle":
        columns, rows = ((2, 1), (2, 2), (3, 2), (3, 2), (3, 3))[number % 5]
        n_tiles = columns * rows
        wanted = tuple(rng.randrange(3) for _ in range(n_tiles))
        first = tuple(rng.randrange(3) for _ in range(n_tiles))
        return Cycle(columns, rows, palette, first, wanted, 3)
    if name == "ordered":
        columns, rows = ((2, 2), (3, 2), (3, 2), (3, 3), (3, 3))[number % 5]
        n_colours = min(3 + number, columns * rows, 6)
        tiles = list(range(n_colours)) + [-1] * (columns * rows - n_colours)
        rng.shuffle(tiles)
        order = rng.sample(range(n_colours), n_colours)
        return Ordered(columns, rows, palette, tuple(tiles), tuple(order))
    n_colours = 2 if number < 3 else 3
    blocks = [colour for colour in range(n_colours) for _ in range(2)]
    rng.shuffle(blocks)
    piles: list[list[int]] = [[] for _ in range(n_colours + 1)]
    for index, block in enumerate(blocks):
        piles[index % n_colours].append(block)
    return Stack(n_colours + 1, 3, palette, tuple(tuple(pile) for pile in piles))
