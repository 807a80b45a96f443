"""Tables for people: what each drive scored under both profiles, and why they differ."""

from collections.abc import Mapping, Sequence
from typing import Any

from sysone.drive import latency
from sysone.drive.profiles import FAILURES, LIST_OF, PENALTY_VALUE_DICT
from sysone.drive.replaying import Replayed
from sysone.drive.results import read_score
from sysone.drive.score import RouteScore

SHORT = {
    "collisions_layout": "layout",
    "collisions_pedestrian": "pedestrian",
    "collisions_vehicle": "vehicle",
    "red_light": "red light",
    "stop_infraction": "stop",
    "outside_route_lanes": "off lane",
    "min_speed_infractions": "min speed",
    "yield_emergency_vehicle_infractions": "yield",
    "scenario_timeouts": "scenario",
    "route_dev": "deviated",
    "vehicle_blocked": "blocked",
    "route_timeout": "timeout",
}


def table(results: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]) -> str:
    """One line a drive, both profiles side by side, and the means."""
    rows = [["route", "seed", "status", "RC %", "bench2drive", "per_tick", "infractions"]]
    for result in results:
        official = read_score(result["scores"]["bench2drive"])
        ticks = read_score(result["scores"]["per_tick"])
        status = official.status
        if ticks.status != official.status:
            status += f" / {ticks.status}"
        rows.append(
            [
                f"{result['route_id']}"
                + (f" #{result['repetition']}" if result["repetition"] else ""),
                str(result["seed"]),
                status,
                f"{official.score_route:.2f}",
                f"{official.score_composed:.2f}",
                f"{ticks.score_composed:.2f}",
                counted(official),
            ]
        )
    both = summary["profiles"]
    rows.append(
        [
            "mean",
            "",
            f"{summary['num_completed']}/{summary['num_routes']} completed",
            f"{both['bench2drive']['score_route']:.2f}",
            f"{both['bench2drive']['score_composed']:.2f}",
            f"{both['per_tick']['score_composed']:.2f}",
            f"{summary['missing']} missing" if summary["missing"] else "",
        ]
    )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    right = (3, 4, 5)
    lines = [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    rule = "-" * max(map(len, lines))
    rates = "  ".join(
        f"{name} {summary[name]:.2f} %" for name in ("sr_completed", "sr_bench2drive", "sr_full")
    )
    speed = f"{summary['sim_fps']:g} ticks/s, {summary['realtime_factor']:g} x real time"
    published = ", ".join(
        f"{name.upper()} {one['sim_fps']:g} ticks/s, {one['realtime_factor']:g} x"
        for name, one in summary.get("speed_baselines", {}).items()
    )
    tail = [f"{rates}  ({speed})", *latency.text(summary.get("latency", {}))]
    if published:
        tail.append(f"published for CARLA servers, no agent: {published}")
    return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1], *tail])


def counted(score: RouteScore) -> str:
    """Infractions in words; min speed is listed, but counts nothing under bench2drive."""
    words = []
    for name, items in score.infractions.items():
        text = SHORT[name] if len(items) == 1 else f"{len(items)} x {SHORT[name]}"
        words.append(f"({text})" if name == "min_speed_infractions" else text)
    return ", ".join(words)


def explain(result: Mapping[str, Any]) -> str:
    """Which rule of which profile moved a drive's score, and why profiles differ."""
    lines = [
        f"route {result['route_id']} seed {result['seed']} repetition {result['repetition']}: "
        f"ended by {result['end']} after {result['ticks']} ticks"
    ]
    scores = {name: read_score(found) for name, found in result["scores"].items()}
    for name, score in scores.items():
        lines.append(
            f"  {name}: {score.score_composed:.2f} = {score.score_route:.2f} % x "
            f"{score.score_penalty:g}, {score.status}"
        )
        for kind, items in score.infractions.items():
            if kind == "min_speed_infractions":
                lines.append(f"    {len(items)} x min speed: {_factor_text('min_speed', name)}")
                continue
            lines += [
                f"    tick {item.tick} ({item.sim_time:.2f} s): {item.detail or item.type}: "
                f"{_factor_text(item.type, name, item.percentage)}"
                for item in items[:5]
            ]
            if len(items) > 5:
                lines.append(f"    and {len(items) - 5} more of these")
    lines += [f"  {line}" for line in differences(scores)]
    return "\n".join(lines)


def _factor_text(kind: str, profile: str, percentage: float | None = None) -> str:
    if kind == "outside_route_lanes":
        return f"x {1 - (percentage or 0.0) / 100:g}"
    if kind == "route_timeout":
        return "x 0.7" if profile == "per_tick" else "ends the drive, no factor"
    if kind == "min_speed":
        return "x 1 - 0.3 (1 - share)" if profile == "leaderboard2" else "listed, no factor"
    if kind in FAILURES:
        return "listed, no factor"
    return f"x {PENALTY_VALUE_DICT[kind]:g}"


def differences(scores: Mapping[str, RouteScore]) -> list[str]:
    """Why bench2drive and per_tick differ, in words."""
    official, ticks = scores.get("bench2drive"), scores.get("per_tick")
    if official is None or ticks is None:
        return []
    if (official.score_composed, official.status) == (ticks.score_composed, ticks.status):
        return ["both profiles agree"]
    found = []
    for kind, name in LIST_OF.items():
        ours, theirs = len(official.infractions.get(name, ())), len(ticks.infractions.get(name, ()))
        if ours == theirs:
            continue
        if kind.startswith("collision"):
            why = "per_tick counts every tick of a contact, bench2drive one in 5 s and 5 m"
        elif kind == "red_light":
            why = (
                "per_tick looks for red while in the junction, bench2drive for the rear passing "
                "the line"
            )
        elif kind == "min_speed":
            why = "bench2drive lists them without a factor, so that Perfect becomes Completed"
        elif kind == "outside_route_lanes":
            why = "per_tick has no such rule"
        elif kind == "vehicle_blocked":
            why = "per_tick: below 0.05 m/s for 30 s; bench2drive: below 0.1 m/s for over 60 s"
        elif kind == "route_dev":
            why = "per_tick: 5 ticks off the route's roads; bench2drive: 30 m off"
        else:
            why = "only one profile has this rule"
        found.append(f"{name}: {ours} under bench2drive, {theirs} under per_tick: {why}")
    if official.score_route != ticks.score_route or official.status != ticks.status:
        found.append("reached is 100 % under bench2drive and 99 % under per_tick")
    return found


def replayed_line(found: Replayed) -> str:
    """One drive's replay: the scores beside the recorded ones, and how the answers differ."""
    where = f"{found.route_id}" + (f" #{found.repetition}" if found.repetition else "")
    line = f"{where} seed {found.seed}: {found.controls.ticks} ticks, "
    if found.same:
        line += ", ".join(f"{name} {now:g}" for name, (_, now) in found.scores.items())
        line += " as recorded"
    else:
        line += ", ".join(
            f"{name} {then:g} recorded and {now:g} here"
            for name, (then, now) in found.scores.items()
        )
        line += f" ({found.outcome.note or found.outcome.end})"
    controls = found.controls
    if not controls.differing:
        return f"{line}; the same controls"
    each = ", ".join(
        f"{name} {controls.mean[name]:.4f} (at most {controls.most[name]:.4f})"
        for name in controls.mean
    )
    return f"{line}; controls differ in {controls.differing} ticks, on average {each}"
