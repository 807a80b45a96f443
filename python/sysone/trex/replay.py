"""A recorded match, played and planned again: verified frame by frame, and data to look at."""

import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from sysone.runs.atomic import write_bytes
from sysone.runs.errors import RunError
from sysone.trex.ask import build_question
from sysone.trex.keys import ACTIONS, Held
from sysone.trex.recording import End, Landed, Played, Record, Start, read_recording
from sysone_core.trex import Game, Plan, Planner, Snapshot, snapshot


class MismatchError(RunError):
    """A recording is not what the engine plays; the text names seed and frame."""


class ObstacleView(msgspec.Struct, frozen=True, kw_only=True):
    """An obstacle on the canvas, in pixels."""

    id: int
    label: str
    x: int
    y: int
    width: int
    height: int


class ViewFrame(msgspec.Struct, frozen=True, kw_only=True):
    """One frame as a spectator sees it."""

    seed: int
    frame: int
    ms: float
    run: int
    score: int
    speed: float
    held: Held
    crashed: bool
    trex_x: int
    trex_y: int
    status: str
    obstacles: list[ObstacleView]
    answers: list[Landed]
    """Those that landed before this frame."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question of a recorded match, planned again, and the answer that it got."""

    state: str
    questions: dict[str, dict[str, object]]
    answer: Landed


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What of a recording was found to be so."""

    matches: int = 0
    frames: int = 0
    answers: int = 0
    """Answers whose question was planned again with the same proof."""
    cut: int = 0
    """Matches without an end: the recording was cut short."""


class Replay:
    """Plays a recording; iterate `frames` once. ``verified`` and ``asked`` grow meanwhile."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.verified = Verified()
        self.asked: list[Asked] = []

    def run(self) -> Verified:
        """Play it to the end.

        Raises:
            MismatchError: the engine or the planner says something else than the recording.
            RunError: the file is no recording.
        """
        for _ in self.frames():
            pass
        return self.verified

    def frames(self) -> Iterator[ViewFrame]:
        """Every frame, as it is verified (see `run` for what is raised)."""
        match: list[Record] = []
        for record in read_recording(self.path):
            if isinstance(record, Start) and match:
                yield from self._match(match)
                match = []
            match.append(record)
        if match:
            yield from self._match(match)

    def _match(self, records: Sequence[Record]) -> Iterator[ViewFrame]:
        start = records[0]
        assert isinstance(start, Start)
        game = Game(start.seed, start.course_style, scenery=False)
        planner = Planner()
        questions = sorted(
            (record for record in records if isinstance(record, Landed) and record.error is None),
            key=lambda answer: (answer.view_frame, answer.seq),
        )
        at, frames = 0, 0
        held: Held = "run"
        landed: list[Landed] = []
        ended = False
        for record in records[1:]:
            match record:
                case Landed():
                    landed.append(record)
                case Played():
                    # Until this frame nothing changed since the last: what was asked meanwhile
                    # was asked about that.
                    before = at
                    while at < len(questions) and questions[at].view_frame < record.frame:
                        at += 1
                    if at > before:
                        moment = snapshot(game, held)
                        for question in questions[before:at]:
                            self._plan(planner, start, moment, question)
                    play_frame(game, start, record)
                    held = record.held
                    frames += 1
                    yield view_of(game, start, record, landed)
                    landed = []
                case End():
                    ended = True
                    if (game.deaths, game.score) != (record.deaths, record.score):
                        raise MismatchError(
                            f"seed {start.seed}: the recording ends with {record.deaths} deaths "
                            f"and score {record.score}, "
                            f"the engine with {game.deaths} and {game.score}"
                        )
        self.verified = Verified(
            matches=self.verified.matches + 1,
            frames=self.verified.frames + frames,
            answers=self.verified.answers + at,
            cut=self.verified.cut + (not ended),
        )

    def _plan(self, planner: Planner, start: Start, moment: Snapshot, answer: Landed) -> None:
        try:
            plan: Plan = planner.plan(
                moment.with_pending(answer.pending), answer.first, answer.gap, answer.period
            )
            state, questions = build_question(plan, start.prompt)
        except ValueError as error:
            raise RunError(
                f"seed {start.seed}, question {answer.seq} about frame {answer.view_frame}: {error}"
            ) from None
        safe = [plan.safe[action] for action in ACTIONS]
        if (plan.best, safe) != (answer.best, answer.safe):
            raise MismatchError(
                f"seed {start.seed}, question {answer.seq} about frame {answer.view_frame}: "
                f"best {answer.best}, safe {answer.safe} in the recording; "
                f"the planner says {plan.best}, {safe}"
            )
        self.asked.append(Asked(state=state, questions=questions, answer=answer))


def play_frame(game: Game, start: Start, record: Played) -> None:
    """Play one recorded frame on the engine.

    Raises:
        MismatchError: the engine shows something else afterwards.
        RunError: a call that there is not.
    """
    for letter in record.calls:
        match letter:
            case "J":
                game.press_jump()
            case "D":
                game.press_duck()
            case "U":
                game.release_duck()
            case "S":
                game.step()
            case "R":
                game.restart()
            case _:
                raise RunError(
                    f"seed {start.seed}, frame {record.frame}: unknown call {letter!r}, "
                    "expected J, D, U, S or R"
                )
    found = (game.trex_y, game.score, zlib.crc32(game.packed_record()))
    recorded = (record.y, record.score, record.check)
    for name, ours, theirs in zip(("y", "score", "check"), found, recorded, strict=True):
        if ours != theirs:
            raise MismatchError(
                f"seed {start.seed}, frame {record.frame}: {name} is {theirs} in the recording and "
                f"{ours} in the engine"
            )


def view_of(game: Game, start: Start, record: Played, landed: list[Landed]) -> ViewFrame:
    """What a spectator sees of the game after a recorded frame."""
    return ViewFrame(
        seed=start.seed,
        frame=record.frame,
        ms=record.ms,
        run=game.run_index,
        score=game.score,
        speed=game.speed,
        held=record.held,
        crashed=game.crashed,
        trex_x=game.trex_x,
        trex_y=game.trex_y,
        status=game.status,
        obstacles=[
            ObstacleView(
                id=obstacle.id,
                label=obstacle.label,
                x=obstacle.x,
                y=obstacle.y,
                width=obstacle.width,
                height=obstacle.height,
            )
            for obstacle in game.obstacles
        ],
        answers=landed,
    )


def write_frames(replay: Replay, path: Path) -> Verified:
    """Verify a recording and write what a spectator sees, one `ViewFrame` a line.

    Raises:
        MismatchError: the recording is not what the engine plays; nothing is written.
        RunError: the file is no recording, or ``path`` cannot be written.
    """
    write_bytes(path, msgspec.json.Encoder().encode_lines(list(replay.frames())))
    return replay.verified
