"""What a path holds: told by what is written in it, never by its name alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sysone.runs.errors import RunError
from sysone.viewer.document import Opened
from sysone.viewer.reading import first_line, object_in, read_file, read_object

SHOWN: Final = (
    "T-Rex recordings, results, sweeps and comparisons; ARC traces, reports and comparisons; "
    "drives and drive runs; arena replays and runs"
)


def open_paths(paths: Sequence[Path], *, verify: bool = False) -> Opened:
    """What some paths hold; several must be T-Rex recordings, which are shown beside each other.

    Raises:
        RunError: there is nothing that can be shown; the text says what is there.
    """
    if len(paths) == 1:
        return open_path(paths[0], verify=verify)
    from sysone.viewer import trex

    for path in paths:
        if path.is_dir() or not is_recording(read_head(path)):
            raise RunError(
                f"{path} is no T-Rex recording: only recordings are shown beside each other"
            )
    return trex.opened(paths)


def open_path(path: Path, *, verify: bool = False) -> Opened:
    """What one path holds (see `open_paths`)."""
    spool = path.with_name(path.name + ".spool")
    if not path.exists() and spool.is_file():
        try:
            return _open_file(spool, verify)  # its match is still being played
        except RunError:
            if spool.exists() or not path.exists():
                raise
            # It ended meanwhile.
    if not path.exists():
        raise RunError(f"{path} is not there")
    if path.is_dir():
        return _open_folder(path)
    return _open_file(path, verify)


def read_head(path: Path) -> bytes:
    """The beginning of a file."""
    return read_file(path)[:65536]


def is_recording(raw: bytes) -> bool:
    """Whether a text begins as a T-Rex recording does."""
    head = first_line(raw)
    return head is not None and head.get("is") == "start"


def _open_file(path: Path, verify: bool) -> Opened:
    from sysone.viewer import arc, arc_reports, arena, drive_runs, trex, trex_reports

    raw = read_file(path)
    if not raw.strip():
        raise RunError(f"{path} is empty")
    head = first_line(raw)
    if head is not None and head.get("is") == "start":
        return trex.opened([path])
    found = head if head is not None and _is_known_line(head) else object_in(path, raw)
    match _kind_of(found):
        case "arena replay":
            return arena.opened(path, verify_now=verify)
        case "results" | "sweep" | "comparison" as kind:
            return trex_reports.opened(path, kind)
        case "arena spool":
            return arena.spool_opened(path)
        case "arena run":
            return arena.run_opened(path.parent)
        case "drive":
            return drive_runs.drive_opened(path.parent)
        case "drive run":
            return drive_runs.run_opened(path.parent)
        case "arc trace":
            return Opened(
                path.name,
                {"": lambda: arc.trace_document(path)},
                more={"": lambda: arc.trace_offers(path)},
            )
        case "arc report":
            return arc_reports.report_opened(path)
        case "arc comparison":
            return Opened(path.name, {"": lambda: arc_reports.comparison_document(path)})
    raise _unknown(path, found)


def _is_known_line(head: dict[str, Any]) -> bool:
    return "spool" in head or ("v" in head and "game_id" in head) or "schema" in head


def _kind_of(found: dict[str, Any]) -> str:
    if found.get("spool") == "arena-spool-v1":
        return "arena spool"
    if str(found.get("format", "")).startswith("arena-replay-"):
        return "arena replay"
    if found.get("format") in ("arena-run-v1", "arena-summary-v1"):
        return "arena run"
    if found.get("final") is True and "ticks_sha256" in found:
        return "drive"
    if "routes_sha256" in found or (isinstance(found.get("fields"), list) and "schema" in found):
        return "drive run" if "routes_sha256" in found else "drive"
    if "v" in found and "game_id" in found:
        return "arc trace"
    if all(isinstance(found.get(key), dict) for key in ("meta", "games", "summary")):
        return "arc report"
    if isinstance(found.get("games"), dict) and "same_rules" in found:
        return "arc comparison"
    if isinstance(found.get("summary"), dict) and isinstance(found.get("results"), list):
        return "results"
    if isinstance(found.get("grid"), dict) and isinstance(found.get("points"), list):
        return "sweep"
    if isinstance(found.get("differences"), list) and "seeds" in found:
        return "comparison"
    return ""


def _unknown(path: Path, found: dict[str, Any]) -> RunError:
    said = found.get("format")
    what = f"its format is {said!r}" if isinstance(said, str) else f"its keys are {_some(found)}"
    return RunError(f"{path} is nothing that can be shown: {what}. There are views of {SHOWN}")


def _some(found: dict[str, Any]) -> str:
    names = [str(key)[:40] for key in list(found)[:6]]
    return ", ".join(names) or "none"


def _open_folder(folder: Path) -> Opened:
    from sysone.viewer import arc_reports, arena, drive_runs

    if (folder / "result.json").is_file() and (folder / "ticks.jsonl.gz").is_file():
        return drive_runs.drive_opened(folder)
    run = folder / "run.json"
    if run.is_file():
        found = read_object(run)
        if found.get("format") == "arena-run-v1":
            return arena.run_opened(folder)
        if "routes_sha256" in found:
            return drive_runs.run_opened(folder)
    report = folder / "eval_report.json"
    if report.is_file():
        return arc_reports.report_opened(report)
    traces = arc_reports.find_traces(folder)
    if traces:
        return arc_reports.folder_opened(folder, traces)
    raise RunError(f"{folder} holds nothing that can be shown. There are views of {SHOWN}")
