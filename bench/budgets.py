"""How much of its time each loop uses: a game's frame, and the 200 ms of a decision."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from bench.promises import shown

MS: Final = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
FRAME_MS: Final = 1000 / 60
DECISION_MS: Final = 200.0
"""What a System One decision may take, from question to action."""


class Budget(msgspec.Struct, frozen=True):
    """Time that a loop has for one turn, and the promise that measures what the turn takes."""

    what: str
    promise: str
    budget_ms: float


BUDGETS: Final = (
    Budget("T-Rex, a frame: answers, shield, step, snapshot", "trex.frame", FRAME_MS),
    Budget("T-Rex, a frame's record", "trex.record", FRAME_MS),
    Budget("System One, embedded model, unseen state", "systemone.unseen_state", DECISION_MS),
    Budget("System One, embedded model, seen state", "systemone.seen_state", DECISION_MS),
    Budget("ARC, a step without its model", "arc.step", DECISION_MS),
    Budget("ARC, a decision of the shipped model", "arc.decision", DECISION_MS),
    Budget("Arena, a decision of both sides", "arena.decisions", DECISION_MS),
    Budget("Drive, a tick to the model and back", "drive.loopback", DECISION_MS),
)


def turn_ms(entry: dict[str, Any], statistic: str) -> float | None:
    """A statistic of a row of promises.json in ms; of one number alone, that is its median.

    Rows of work per second give the time of one unit of work.
    """
    unit = entry["unit"]
    if statistic in entry:
        return float(entry[statistic]) * MS.get(unit, 1.0)
    if statistic != "p50":
        return None
    value = float(entry["value"])
    return 1e3 / value if unit.endswith("/s") else value * MS[unit]


def markdown(entries: Sequence[dict[str, Any]]) -> str:
    """The budgets of what was measured, as a table; empty if none was."""
    rows = {entry["name"]: entry for entry in entries}
    lines = []
    for budget in BUDGETS:
        if budget.promise not in rows:
            continue
        cells = []
        for statistic in ("p50", "p99"):
            ms = turn_ms(rows[budget.promise], statistic)
            if ms is None:
                cells += ["", ""]
            else:
                cells += [f"{shown(ms)} ms", f"{shown(100 * ms / budget.budget_ms)} %"]
        lines.append(
            f"| {budget.what} | `{budget.promise}` | {budget.budget_ms:.4g} ms | "
            + " | ".join(cells)
            + " |"
        )
    if not lines:
        return ""
    head = "| loop | measured by | budget | p50 | share | p99 | share |"
    return "\n".join(["## Budgets", "", head, "| --- | --- |" + " ---: |" * 5, *lines, ""])
