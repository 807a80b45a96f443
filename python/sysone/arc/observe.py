"""What a game shows: grid, texts, hashes and what changed, always of the last frame."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc.actions import RESET_ID, Action
from sysone.arc.actions import allowed as allowed_ids
from sysone.arc.frame import NOT_FINISHED, NOT_PLAYED, STATES, Frame
from sysone.arc.hud import HudMask
from sysone_core import grids

STATE_VERSION: Final = "qwenjev-state-v1"
"""First word of the state text; a model is trained for one version."""
COMPACT_VERSION: Final = "qwenjev-state-v1c"

Grid = NDArray[np.uint8]


@dataclass(slots=True)
class Observation:
    """One frame of a game and how it differs from the one before."""

    seen: grids.Observed
    previous: Grid | None
    mask: NDArray[np.uint8]
    """uint8 [H, W], not 0 where the HUD is."""
    frames: Sequence[Any]
    """All pictures of the last action as the game gave them."""
    state: str
    levels_completed: int
    win_levels: int
    available_actions: tuple[int, ...]
    full_reset: bool = False
    new_level: bool = False
    """Whether this is the first frame of a level, or of a level played again."""
    repaired: bool = False
    """Whether the picture had to be clipped, cut or padded."""
    empty: bool = False
    """Whether the game sent no picture; the grid is the last one then."""
    mask_changed: bool = False
    """Whether earlier masked hashes of this level are of another mask."""

    @property
    def grid(self) -> Grid:
        """The present picture, uint8 [H, W]."""
        return self.seen.grid

    @property
    def frame_hash(self) -> int:
        """64-bit hash of the whole grid."""
        return self.seen.frame_hash

    @property
    def masked_hash(self) -> int:
        """64-bit hash without the HUD: what novelty and change are judged by."""
        return self.seen.masked_hash

    @property
    def n_changed(self) -> int:
        """Cells that differ from the frame before, HUD included."""
        return self.seen.n_changed

    @property
    def changed(self) -> NDArray[np.int32]:
        """Their indices, ``y * W + x``."""
        return self.seen.changed

    @property
    def n_frames(self) -> int:
        """Pictures of the last action."""
        return len(self.frames)

    @property
    def diff_text(self) -> str:
        """``*`` where a cell changed, else its hex digit."""
        return self.seen.diff_text

    @property
    def state_text(self) -> str:
        """Header and grid; equal situations give equal bytes in every process."""
        return state_text(self.grid, self.levels_completed, self.state)

    @property
    def compact_text(self) -> str:
        """Header and the rows of the diff text that hold a change."""
        return compact_text(self.diff_text, self.levels_completed, self.state)


def _header(version: str, height: int, width: int, levels_completed: int, state: str) -> str:
    return f"{version}|h={height} w={width} l={levels_completed} s={state}"


def state_text(grid: Any, levels_completed: int, state: str) -> str:
    """The v1 state text of a grid."""
    checked = grids.as_grid(grid)
    height, width = checked.shape
    header = _header(STATE_VERSION, height, width, levels_completed, state)
    return f"{header}\n{grids.grid_text(checked)}"


def compact_text(diff_text: str, levels_completed: int, state: str) -> str:
    """The compact v1 state text: of the diff text only the rows with a change."""
    rows = diff_text.split("\n")
    header = _header(COMPACT_VERSION, len(rows), len(rows[0]), levels_completed, state)
    changed = [f"{y}:{row}" for y, row in enumerate(rows) if "*" in row]
    return "\n".join([header, *changed])


def parse_state_text(text: str) -> tuple[Grid, int, str]:
    """Grid, levels completed and state of a v1 state text.

    Raises:
        ValueError: another version, header or grid; the text names the part.
    """
    header, _, body = text.partition("\n")
    version, _, fields = header.partition("|")
    if version != STATE_VERSION:
        raise ValueError(f"state version is {version[:40]!r}, expected {STATE_VERSION}")
    found = dict(part.split("=", 1) for part in fields.split(" ") if "=" in part)
    if list(found)[:4] != ["h", "w", "l", "s"]:
        raise ValueError(f"state header is {fields[:60]!r}, expected h= w= l= s=")
    if not all(found[key].isdecimal() for key in "hwl"):
        raise ValueError(f"state header is {fields[:60]!r}, expected whole numbers for h, w and l")
    if found["s"] not in STATES:
        raise ValueError(f"state is {found['s'][:40]!r}, expected one of {', '.join(STATES)}")
    grid = grids.text_to_grid(body)
    if grid.shape != (int(found["h"]), int(found["w"])):
        raise ValueError(f"the grid has shape {grid.shape}, expected h={found['h']} w={found['w']}")
    return grid, int(found["l"]), found["s"]


def repair_grid(picture: Any) -> tuple[Grid, bool]:
    """Any picture as a grid, and whether values were clipped, or sides cut or padded to 64.

    Raises:
        ValueError: there is nothing in it that could be a picture.
    """
    # The toolkit's own pictures are int8 of this very size.
    if (
        isinstance(picture, np.ndarray)
        and picture.dtype == np.int8
        and picture.shape == (grids.SIDE, grids.SIDE)
        and picture.flags.c_contiguous
    ):
        view = picture.view(np.uint8)
        if view.max() < grids.VALUES:
            return view.copy(), False
    try:
        return grids.as_grid(picture).copy(), False
    except ValueError:
        pass
    try:
        array = np.asarray(picture, dtype=np.float64)
    except (TypeError, ValueError):
        rows = [list(row) for row in picture] if isinstance(picture, list | tuple) else []
        width = max((len(row) for row in rows), default=0)
        array = np.zeros((len(rows), width))
        for y, row in enumerate(rows):
            for x, value in enumerate(row):
                array[y, x] = value if isinstance(value, int | float) else 0
    if array.ndim == 3 and len(array):
        array = array[-1]
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"a picture has shape {array.shape}, expected rows and columns")
    array = np.nan_to_num(array[: grids.SIDE, : grids.SIDE])
    grid = np.zeros((grids.SIDE, grids.SIDE), np.uint8)
    grid[: array.shape[0], : array.shape[1]] = np.clip(array, 0, grids.VALUES - 1)
    return grid, True


def encode_observation(
    frames: Any,
    previous: Any = None,
    *,
    mask: NDArray[np.uint8] | None = None,
    state: str = NOT_FINISHED,
    levels_completed: int = 0,
    win_levels: int = 0,
    available_actions: Sequence[int] = (),
    full_reset: bool = False,
) -> Observation:
    """The observation of one answer, without a memory of the game (see `Watcher` for that).

    ``frames`` is a grid or a list of them, of which the last counts; ``previous`` is the grid
    before the action.

    Raises:
        ValueError: a picture is not a grid.
    """
    grid = grids.as_grid(frames)
    observer = grids.Observer()
    before = None if previous is None else grids.as_grid(previous)
    if before is not None:
        observer.observe(before)
    observer.set_mask(mask)
    seen = observer.observe(grid)
    listed = [frames] if np.ndim(frames) == 2 else list(frames)
    return Observation(
        seen,
        before,
        np.zeros(grid.shape, np.uint8) if mask is None else mask,
        listed,
        state,
        levels_completed,
        win_levels,
        allowed_ids(available_actions),
        full_reset,
    )


class Watcher:
    """Everything that one game shows, frame after frame: hashes, mask, levels."""

    def __init__(self) -> None:
        self.hud = HudMask()
        self.repaired_frames = 0
        self._observer = grids.Observer()
        self._last: Observation | None = None

    @property
    def last(self) -> Observation | None:
        """The newest observation."""
        return self._last

    def observe(self, frame: Frame | None, action: Action | None = None) -> Observation | None:
        """The observation of what the game answered to ``action``.

        Without a picture the last observation's grid and levels stay: after the end of a game
        the toolkit sends no frames and says 0 levels, which is not lost progress. None until
        there was a picture.
        """
        picture = frame.frame[-1] if frame is not None and len(frame.frame) else None
        grid, repaired = None, False
        if picture is not None:
            try:
                grid, repaired = repair_grid(picture)
            except ValueError:
                grid = None
        if grid is None or frame is None:
            return self._unseen(frame)
        self.repaired_frames += repaired
        last = self._last
        reset = action is not None and action.id == RESET_ID
        new_level = (
            last is None
            or reset
            or frame.full_reset
            or frame.levels_completed != last.levels_completed
            or last.grid.shape != grid.shape
        )
        again = reset and last is not None and frame.levels_completed == last.levels_completed
        if new_level and not again:
            self._observer.set_mask(self.hud.start_level(grid))
        seen = self._observer.observe(grid)
        mask_changed = False
        if not new_level and action is not None and self.hud.update(action, grid, seen.changed):
            mask_changed = True
            self._observer.set_mask(self.hud.mask)
            seen.masked_hash = grids.frame_hash(grid, self.hud.mask)
        assert self.hud.mask is not None
        self._last = Observation(
            seen,
            None if last is None else last.grid,
            self.hud.mask,
            frame.frame,
            frame.state,
            frame.levels_completed,
            frame.win_levels,
            allowed_ids(frame.available_actions),
            frame.full_reset,
            new_level,
            repaired,
            mask_changed=mask_changed,
        )
        return self._last

    def _unseen(self, frame: Frame | None) -> Observation | None:
        last = self._last
        if last is None:
            return None
        seen = grids.Observed(
            last.grid,
            0,
            grids.NO_CELLS,
            last.seen.diff,
            last.frame_hash,
            last.masked_hash,
        )
        state = last.state
        if frame is not None and frame.state != NOT_PLAYED:
            state = frame.state
        return Observation(
            seen,
            last.previous,
            last.mask,
            (),
            state,
            last.levels_completed,
            last.win_levels,
            last.available_actions,
            empty=True,
        )
