"""A sweep as a picture. Needs the extra ``plot`` (matplotlib)."""

import importlib.util
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sysone.runs.atomic import write_bytes
from sysone.runs.errors import RunError
from sysone.trex.baselines import PLANNER_BEST
from sysone.trex.sweep import Curve, Point, Sweep, cliff_ms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS: Final = (".png", ".svg", ".pdf")
DASHES: Final = ("-", "--", "-.", ":")
HARNESS: Final = "#555555"
"""The planner's curves are grey and under the model's, which are in colour."""
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""Told apart by readers with any colour vision (Okabe and Ito, 2008)."""

Measure = Callable[[Point], float | None]


def check_plot(path: Path) -> None:
    """Find out before the work whether there can be a picture of it.

    Raises:
        RunError: ``path`` has no known ending, or matplotlib is missing.
    """
    if path.suffix.lower() not in FORMATS:
        raise RunError(f"{path}: a plot ends in {', '.join(FORMATS)}, not {path.suffix!r}")
    if importlib.util.find_spec("matplotlib") is None:
        raise RunError("a plot needs the package matplotlib: pip install 'sysone-core[plot]'")


def draw(found: Sweep, path: Path) -> None:
    """Write the sweep's curves over latency: a column for each jitter, a row for each measure.

    Raises:
        RunError: ``path`` has no known ending or cannot be written, or matplotlib is missing.
    """
    check_plot(path)
    # Without pyplot, which keeps state and looks for a screen.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    jitters = found.grid.jitters_ms
    rows = _measures(found)
    figure = Figure(figsize=(2.6 + 4.6 * len(jitters), 1.4 + 2.1 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), len(jitters), sharex=True, sharey="row", squeeze=False)
    for column, jitter_ms in enumerate(jitters):
        curves = {
            curve: points
            for curve, points in found.curves().items()
            if curve.jitter_ms == jitter_ms
        }
        for row, (name, measure, top) in enumerate(rows):
            panel = axes[row][column]
            _panel(panel, found, curves, measure, name_cliffs=row == 0)
            panel.set_ylim(bottom=0, top=top)
            if column == 0:
                panel.set_ylabel(name)
        axes[0][column].set_title(f"jitter {jitter_ms:g} ms" if len(jitters) > 1 else "")
        axes[-1][column].set_xlabel("latency, ms")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    grid = found.grid
    figure.suptitle(
        f"T-Rex, {grid.seeds} seeds × {grid.duration_s:g} s, "
        f"shield {'on' if grid.shield else 'off'}, virtual time"
        + (f"\n{found.grid.model}: {found.model}" if found.model else ""),
        fontsize="medium",
    )
    data = io.BytesIO()
    # The same sweep, the same bytes: no date in it, and no version.
    metadata: dict[str, Any] = {".png": {"Software": None}, ".pdf": {"CreationDate": None}}.get(
        path.suffix.lower(), {"Date": None}
    )
    # The ids in an SVG are hashes, salted at random unless told otherwise.
    with rc_context({"svg.hashsalt": "sysone"}):
        figure.savefig(data, format=path.suffix[1:].lower(), dpi=110, metadata=metadata)
    write_bytes(path, data.getvalue())


def _measures(found: Sweep) -> list[tuple[str, Measure, float | None]]:
    minutes = found.grid.seeds * found.grid.duration_s / 60

    def saves(point: Point) -> float:
        saved = point.shield_interventions + point.arrival_saves + point.emergency_saves
        return saved / minutes

    measures: list[tuple[str, Measure, float | None]] = [
        ("survived, share", lambda point: point.survived / point.seeds, 1.05),
        ("mean best score", lambda point: point.mean_best_score, None),
        ("agreement", lambda point: point.agreement_with_planner, 1.05),
    ]
    if found.grid.shield:
        measures.append(("shield, a minute", saves, None))
    return measures


def _panel(
    panel: "Axes",
    found: Sweep,
    curves: dict[Curve, list[Point]],
    measure: Measure,
    name_cliffs: bool,
) -> None:
    players = list(dict.fromkeys((curve.player, curve.prompt) for curve in curves))
    models = [player for player in players if player[0] != PLANNER_BEST]
    for curve, points in curves.items():
        harness = curve.player == PLANNER_BEST
        colour = HARNESS if harness else COLOURS[models.index((curve.player, curve.prompt)) % 4]
        dashes = DASHES[found.grid.inflights.index(curve.inflight) % len(DASHES)]
        _line(panel, points, measure, colour, dashes, 3.5 if harness else 1.5, curve.label)
        last = cliff_ms(points)
        if harness and last is not None and last < points[-1].latency_ms:
            panel.axvline(last, color=HARNESS, linestyle=dashes, linewidth=0.8)
            if name_cliffs:
                panel.annotate(
                    f"cliff {last:g} ms",
                    (last, 0.0),
                    xycoords=("data", "axes fraction"),
                    xytext=(3, 4),
                    textcoords="offset points",
                    fontsize="small",
                    color=HARNESS,
                )


def _line(
    panel: "Axes",
    points: Sequence[Point],
    measure: Measure,
    colour: str,
    dashes: str,
    width: float,
    label: str,
) -> None:
    known = [(point.latency_ms, value) for point in points if (value := measure(point)) is not None]
    panel.plot(
        [latency_ms for latency_ms, _ in known],
        [value for _, value in known],
        color=colour,
        linestyle=dashes,
        linewidth=width,
        alpha=0.5 if width > 2 else 1.0,
        label=label,
    )
