"""A match on disk: every key, every frame and every decision, one JSON object a line.

A file holds one match after the other. Each begins with a `Start` and ends with an `End`, unless
it was cut short. In between there is a `Played` for every frame that the game played and a
`Landed` for every answer, before the frame that it landed with. Only what cannot be computed is
written: `replay` plays the keys again and plans the questions again.
"""

import os
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Annotated, BinaryIO, Final, Literal, Self

import msgspec

from sysone.runs.errors import RunError, unreadable, unwritable
from sysone.trex.keys import Action, Held
from sysone.trex.pilot import Pilot
from sysone.trex.question import CourseStyle, Decision, PremiseRule
from sysone_core.trex import Game

VERSION: Final = 1
FLUSH_EVERY: Final = 60
"""Records between two writes to the file: about a second of play may be lost to a kill."""


ClockKind = Literal["real", "virtual"]


class Start(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="start"):
    """Who plays what."""

    version: int
    seed: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
    course_style: CourseStyle
    player: str
    endpoint: str
    clock: ClockKind
    shield: bool
    prompt: str
    lockstep: int | None
    inflight: int
    premise_rule: PremiseRule


class Played(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="frame"):
    """A frame of the game, after it was played."""

    frame: int
    """Of the arena."""
    ms: float
    """Since the match began, by its own clock."""
    calls: str
    """What was called, in order: J and D press jump and duck, U lets go of duck, S plays one
    frame, R restarts."""
    held: Held
    y: int
    score: int
    check: int
    """CRC-32 of the game's packed record."""


class Landed(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="answer"):
    """An answer that landed, or that failed."""

    frame: int
    """Of the arena, with which it landed."""
    fate: str
    """``Applied``, or why it was dropped."""
    seq: int
    run: int
    view_frame: int
    """The frame that the question is about."""
    pending: Action | None
    first: tuple[float, float]
    """Frames until the landing that the question was planned for, then those from one answer to
    the next, and the longest wait between two questions."""
    gap: tuple[float, float]
    period: float | None
    latency_ms: float
    error: str | None = None
    probabilities: dict[str, float] | None = None
    model: str = ""
    proposed: Action | None = None
    planned: Action | None = None
    """After the shield on the label."""
    executed: Action | None = None
    """After the shield on arrival."""
    best: Action | None = None
    safe: list[bool] | None = None
    """In the order jump, duck, run."""
    model_ms: float = 0.0
    plan_ms: float = 0.0


class End(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="end"):
    """How it ended."""

    frames: int
    deaths: int
    score: int


Record = Start | Played | Landed | End


class RecordedGame(Game):
    """A game that keeps what is called on it; ``calls`` is for the recorder to empty."""

    calls: str = ""

    def press_jump(self) -> None:
        """Press jump."""
        self.calls += "J"
        super().press_jump()

    def press_duck(self) -> None:
        """Press duck."""
        self.calls += "D"
        super().press_duck()

    def release_duck(self) -> None:
        """Let go of duck."""
        self.calls += "U"
        super().release_duck()

    def restart(self) -> None:
        """Begin the next run."""
        self.calls += "R"
        super().restart()

    def step(self, frames: int = 1) -> None:
        """Play frames."""
        self.calls += "S" * frames
        super().step(frames)


class RecordingFile:
    """A recording that is being written; an existing file is replaced.

    Raises:
        RunError: it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._encoder = msgspec.json.Encoder()
        self._lines: list[bytes] = []
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = self.path.open("wb", buffering=0)
        except OSError as error:
            raise unwritable(self.path, error) from error

    def append(self, record: Record) -> None:
        """Add a record; it reaches the file with the next flush."""
        self._lines.append(self._encoder.encode(record))
        if len(self._lines) >= FLUSH_EVERY:
            self.flush()

    def flush(self) -> None:
        """Write what was added.

        Raises:
            RunError: the disk refused it.
        """
        if self._lines:
            data = b"\n".join([*self._lines, b""])
            self._lines.clear()
            try:
                written = self._file.write(data)
            except OSError as error:
                raise unwritable(self.path, error) from error
            # The last bytes of a disk are taken without an error; the reader leaves the rest out.
            if written != len(data):
                raise RunError(f"cannot write {self.path}: the disk is full")

    def close(self) -> None:
        """Write the rest and close the file."""
        try:
            self.flush()
        finally:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Recorder:
    """Records one match of a pilot that plays a `RecordedGame`.

    ``spent_s`` adds up what the recording itself took, on the machine's clock.
    """

    def __init__(
        self, file: RecordingFile, pilot: Pilot, clock: Literal["real", "virtual"]
    ) -> None:
        if not isinstance(pilot.game, RecordedGame):
            raise TypeError("the pilot of a recorded match plays a RecordedGame")
        self._file = file
        self._game = pilot.game
        self._pilot = pilot
        self._start_s = pilot.clock()
        self.spent_s = 0.0
        player = pilot.player
        file.append(
            Start(
                version=VERSION,
                seed=pilot.game.seed,
                course_style=pilot.game.course.style,
                player=player.name,
                endpoint=player.detail,
                clock=clock,
                shield=pilot.guarded,
                prompt=pilot.prompt,
                lockstep=pilot.lockstep,
                inflight=pilot.inflight,
                premise_rule=pilot.premise_rule,
            )
        )
        pilot.recorder = self

    def played(self, frame: int) -> None:
        """After a tick of the arena: keep its frame, if the game played one."""
        started_s = time.perf_counter()
        game = self._game
        calls, game.calls = game.calls, ""
        if calls:
            self._file.append(
                Played(
                    frame=frame,
                    ms=round((self._pilot.clock() - self._start_s) * 1000, 3),
                    calls=calls,
                    held=self._pilot.held,
                    y=game.trex_y,
                    score=game.score,
                    check=zlib.crc32(game.packed_record()),
                )
            )
        self.spent_s += time.perf_counter() - started_s

    def landed(self, decision: Decision, frame: int, fate: str) -> None:
        """Keep an answer and what became of it."""
        started_s = time.perf_counter()
        answer = decision.answer
        first, gap, period = decision.timing
        common = Landed(
            frame=frame,
            fate=fate,
            seq=decision.seq,
            run=decision.run,
            view_frame=decision.view_frame,
            pending=decision.pending,
            first=first,
            gap=gap,
            period=period,
            latency_ms=round(decision.latency_ms, 3),
            error=decision.error,
        )
        if answer is not None:
            common = msgspec.structs.replace(
                common,
                probabilities=dict(answer.probabilities),
                model=answer.model,
                proposed=answer.proposed,
                planned=answer.executed,
                executed=decision.executed,
                best=answer.best,
                safe=list(answer.safe.values()),
                model_ms=round(answer.inference_ms, 3),
                plan_ms=round(answer.plan_ms, 3),
            )
        self._file.append(common)
        self.spent_s += time.perf_counter() - started_s

    def close(self, frames: int) -> None:
        """The match is over after so many frames of the arena."""
        game = self._game
        self._file.append(End(frames=frames, deaths=game.deaths, score=game.score))
        self._file.flush()


def read_recording(path: str | os.PathLike[str]) -> Iterator[Record]:
    """The records of a file, in order; a last line that was cut is left out.

    Raises:
        RunError: the file cannot be read or is no recording; the text names the line.
    """
    decoder = msgspec.json.Decoder(Record)
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return
                try:
                    record = decoder.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise RunError(f"{path}, line {number} is no record: {error}") from None
                if number == 1 and not isinstance(record, Start):
                    raise RunError(f"{path} is no recording: it does not begin with a match")
                if isinstance(record, Start) and record.version != VERSION:
                    raise RunError(
                        f"{path}, line {number}: version {record.version} of the recording's "
                        f"format, expected {VERSION}"
                    )
                yield record
    except OSError as error:
        raise unreadable(path, error) from error


def is_recording(path: Path) -> bool:
    """Whether a file begins as a recording does."""
    try:
        with path.open("rb") as file:
            return file.read(13) == b'{"is":"start"'
    except OSError as error:
        raise unreadable(path, error) from error


def landed_ms(path: str | os.PathLike[str]) -> list[float]:
    """Milliseconds from question to landing of every answer of a recording, as they landed."""
    return [
        record.latency_ms
        for record in read_recording(path)
        if isinstance(record, Landed) and record.error is None
    ]
