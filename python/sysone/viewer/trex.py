"""A T-Rex recording as lanes: every frame played again on the engine, and what the answers did."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sysone.runs.errors import RunError
from sysone.trex.keys import ACTIONS
from sysone.trex.recording import Landed, Played, Start, read_recording
from sysone.trex.replay import Replay, ViewFrame
from sysone.viewer.document import Document, Header, Opened, Verdict
from sysone_core.trex import FPS

STATUSES: Final = ("run", "jump", "duck", "wait", "crash")
HELD: Final = ("run", "duck")


class Lane:
    """One match in columns, which grow frame by frame."""

    def __init__(self, start: Start, source: str) -> None:
        self.start, self.source = start, source
        self.columns: dict[str, list[Any]] = {
            name: []
            for name in ("frame", "ms", "run", "score", "speed", "held", "x", "y", "status", "seen")
        }
        self.kinds: list[tuple[str, int, int, int]] = []
        """Label, y, width and height of the obstacles, each once."""
        self._numbers: dict[tuple[str, int, int, int], int] = {}
        self.answers: list[dict[str, Any]] = []
        self.marks: list[dict[str, Any]] = []
        self._before: ViewFrame | None = None

    def add(self, view: ViewFrame, calls: str) -> None:
        """One more frame, and the calls that it was played with."""
        columns = self.columns
        columns["frame"].append(view.frame)
        columns["ms"].append(view.ms)
        columns["run"].append(view.run)
        columns["score"].append(view.score)
        columns["speed"].append(round(view.speed, 3))
        columns["held"].append(HELD.index(view.held))
        columns["x"].append(view.trex_x)
        columns["y"].append(view.trex_y)
        status = "crash" if view.crashed else view.status
        columns["status"].append(STATUSES.index(status) if status in STATUSES else 0)
        # the obstacles in sight, flat: kind, x, kind, x
        columns["seen"].append(
            [value for seen in view.obstacles for value in (self._kind(seen), seen.x)]
        )
        applied = [answer for answer in view.answers if answer.fate == "Applied"]
        for answer in view.answers:
            self.answers.append(answer_row(answer))
            self._mark_answer(answer)
        before = self._before
        if before is not None and not applied and self.start.shield and not view.crashed:
            # Keys change with an applied answer, at the start of a run, or by the shield alone.
            pressed = "J" in calls or (view.held != before.held and before.run == view.run)
            if pressed and "R" not in calls and not before.crashed:
                self.mark(view.frame, "emergency", "jump" if "J" in calls else view.held)
        if view.crashed and (before is None or not before.crashed):
            self.mark(view.frame, "crash", f"{view.score}")
        if before is not None and view.run != before.run:
            self.mark(view.frame, "restart", f"{view.run + 1}")
        self._before = view

    def mark(self, frame: int, kind: str, text: str) -> None:
        """Something for the time line."""
        self.marks.append({"frame": frame, "kind": kind, "text": text})

    def _mark_answer(self, answer: Landed) -> None:
        if answer.error is not None:
            self.mark(answer.frame, "failed", answer.error)
        elif answer.fate != "Applied":
            self.mark(answer.frame, "late", answer.fate)
        elif answer.executed != answer.planned:
            self.mark(answer.frame, "save", f"{answer.planned} → {answer.executed}")
        elif answer.planned != answer.proposed:
            self.mark(answer.frame, "shield", f"{answer.proposed} → {answer.planned}")

    def _kind(self, seen: Any) -> int:
        key = (seen.label, seen.y, seen.width, seen.height)
        if key not in self._numbers:
            self._numbers[key] = len(self.kinds)
            self.kinds.append(key)
        return self._numbers[key]

    def row(self, since: int = 0, answers_since: int = 0, marks_since: int = 0) -> dict[str, Any]:
        """The match for the page, from a frame, an answer and a mark on."""
        start = self.start
        return {
            "seed": start.seed,
            "player": start.player,
            "endpoint": start.endpoint,
            "source": self.source,
            "clock": start.clock,
            "shield": start.shield,
            "prompt": start.prompt,
            "inflight": start.inflight,
            "premise_rule": start.premise_rule,
            "kinds": self.kinds,
            "columns": {name: values[since:] for name, values in self.columns.items()},
            "answers": self.answers[answers_since:],
            "marks": self.marks[marks_since:],
        }


def answer_row(answer: Landed) -> dict[str, Any]:
    """What the page shows of an answer; probabilities and safety by `ACTIONS`."""
    probabilities = answer.probabilities or {}
    return {
        "frame": answer.frame,
        "asked": answer.view_frame,
        "seq": answer.seq,
        "fate": answer.fate,
        "error": answer.error,
        "p": [round(float(probabilities.get(action, 0.0)), 4) for action in ACTIONS],
        "safe": answer.safe,
        "best": answer.best,
        "proposed": answer.proposed,
        "planned": answer.planned,
        "executed": answer.executed,
        "latency_ms": answer.latency_ms,
        "model_ms": answer.model_ms,
        "plan_ms": answer.plan_ms,
        "model": answer.model,
    }


def read_lanes(path: Path) -> tuple[list[Lane], dict[str, int]]:
    """The matches of a recording, and how many frames and answers the engine verified.

    Raises:
        RunError: it is no recording, or not what the engine plays.
    """
    calls: list[str] = []
    starts: list[Start] = []
    counts: list[int] = []
    for record in read_recording(path):
        if isinstance(record, Start):
            starts.append(record)
            counts.append(0)
        elif isinstance(record, Played):
            calls.append(record.calls)
            counts[-1] += 1
    if not calls:
        raise RunError(f"{path} has no frame yet")
    replay = Replay(path)
    views = replay.frames()
    lanes, at = [], 0
    for start, count in zip(starts, counts, strict=True):
        lane = Lane(start, path.name)
        for _ in range(count):
            lane.add(next(views), calls[at])
            at += 1
        if count:
            lanes.append(lane)
    for _ in views:
        pass
    found = replay.verified
    return lanes, {"frames": found.frames, "answers": found.answers}


def document(paths: Sequence[Path]) -> Document:
    """One or several recordings; matches of the same seed are lanes beside each other.

    Raises:
        RunError: see `read_lanes`.
    """
    lanes: list[Lane] = []
    verified = {"frames": 0, "answers": 0}
    for path in paths:
        found, counts = read_lanes(path)
        lanes += found
        verified = {name: verified[name] + counts[name] for name in verified}
    verdict = Verdict("trex_verified", dict(verified), "good")
    return lanes_document(lanes, " · ".join(path.name for path in paths), verdict)


def lanes_document(
    lanes: Iterable[Lane], title: str, verified: Verdict | None, *, live: bool = False
) -> Document:
    """The screen of some matches."""
    rows = [lane.row() for lane in lanes]
    crashes = sum(mark["kind"] == "crash" for row in rows for mark in row["marks"])
    return Document(
        kind="trex",
        header=Header(
            world="trex",
            title=title,
            about=_about(rows),
            versions=_versions(rows),
            verdict=Verdict(
                "trex_survived" if not crashes else "trex_crashed",
                {"matches": len(rows), "crashes": crashes},
                "plain" if live else "bad" if crashes else "good",
            ),
        ),
        data={
            "fps": FPS,
            "actions": list(ACTIONS),
            "statuses": list(STATUSES),
            "lanes": rows,
            "verified": verified,
        },
        live=live,
    )


def _about(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    def values(name: str) -> str:
        return ", ".join(dict.fromkeys(str(row[name]) for row in rows))

    return [(name, values(name)) for name in ("player", "clock", "shield", "prompt", "inflight")]


def _versions(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    models = dict.fromkeys(str(row["endpoint"]) for row in rows if row["endpoint"])
    return {"recording": "1", **({"model": ", ".join(models)} if models else {})}


def opened(paths: Sequence[Path]) -> Opened:
    """Recordings; a single one that still grows is followed."""
    # what follows recordings makes the same lanes
    from sysone.viewer.live import Recording, is_fresh

    title = " · ".join(path.name for path in paths)
    if len(paths) == 1 and is_fresh(paths[0]) and not _is_whole(paths[0]):
        path = paths[0]
        return Opened(
            title,
            {"": lambda: lanes_document(read_lanes(path)[0], title, None, live=True)},
            live={"": lambda: Recording(path)},
        )
    documents: dict[str, Callable[[], Document]] = {"": lambda: document(paths)}
    return Opened(title, documents)


def _is_whole(path: Path) -> bool:
    """Whether the last line of a recording ends a match."""
    *_, last = [b"", *path.read_bytes().splitlines()]
    return last.startswith(b'{"is":"end"')
