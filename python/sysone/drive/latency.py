"""How long a model took: per step, and per question where the agent says so in its ``info``."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sysone.drive.ticks import TickStore


def latency(store: TickStore) -> dict[str, Any]:
    """Of one drive: raw values, so that a run can put drives together."""
    infos = [info for info in store.column("info") if isinstance(info, Mapping)]
    sources = Counter(store.column("control_source"))
    return {
        "infer_ms": [value for value in store.column("infer_ms") if value is not None],
        "held": sources["hold"] + sources["brake"],
        "asked_ms": [info["asked_ms"] for info in infos if "asked_ms" in info],
        "unanswered": dict(Counter(i["unanswered"] for i in infos if "unanswered" in i)),
        "tactics": dict(Counter(i["tactic"] for i in infos if "asked_ms" in i and "tactic" in i)),
    }


def summed(drives: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of a run: percentiles in ms, steps without an answer in time, tactics and their questions."""
    found: dict[str, Any] = {
        "steps": _spread([v for one in drives for v in one["infer_ms"]]),
        "held_steps": sum(one["held"] for one in drives),
    }
    asked = [v for one in drives for v in one["asked_ms"]]
    if asked:
        unanswered: Counter[str] = Counter()
        tactics: Counter[str] = Counter()
        for one in drives:
            unanswered.update(one["unanswered"])
            tactics.update(one["tactics"])
        found["questions"] = {
            **_spread(asked),
            "timeouts": unanswered["timeout"],
            "errors": unanswered["error"],
            "tactics": dict(sorted(tactics.items())),
        }
    return found


def _spread(values: Sequence[float]) -> dict[str, Any]:
    if not values:
        return {"count": 0}
    ordered = sorted(values)

    def at(share: float) -> float:
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)

    return {"count": len(ordered), "p50_ms": at(0.5), "p95_ms": at(0.95), "max_ms": at(1.0)}


def text(found: Mapping[str, Any]) -> list[str]:
    """Lines for a person; none where no model answered."""
    lines = []
    steps = found.get("steps", {})
    if steps.get("count"):
        lines.append(
            f"model: {_words(steps)} a step, {found['held_steps']} steps without an answer in time"
        )
    questions = found.get("questions")
    if questions:
        tactics = ", ".join(f"{name} {count}" for name, count in questions["tactics"].items())
        lines.append(
            f"decisions: {_words(questions)} a question, {questions['timeouts']} timeouts, "
            f"{questions['errors']} errors; {tactics}"
        )
    return lines


def _words(found: Mapping[str, Any]) -> str:
    return (
        f"{found['count']} times p50 {found['p50_ms']:g} ms, p95 {found['p95_ms']:g}, "
        f"most {found['max_ms']:g}"
    )
