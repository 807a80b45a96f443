"""Two runs of the same seeds: what differs, how surely, and what could not have been seen.

Seeds are pairs: both players met the same obstacles, so the difference of a pair is free of what
the course alone brings. Intervals are percentile bootstraps of the mean difference, widened for
few seeds (Hesterberg 2015, "What Teachers Should Know About the Bootstrap", section 5.3: the
percentiles are those of the normal distribution at sqrt(n / (n - 1)) times Student's t). Resampling
starts from a fixed seed: the same files give the same numbers.
"""

import math
import statistics
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Final

import msgspec
import numpy as np

from sysone.runs.errors import RunError
from sysone.trex.report import Results, Rules, SeedRow, Settings

RESAMPLES: Final = 10_000
CONFIDENCE: Final = 0.95
POWER: Final = 0.8
"""Of the smallest detectable difference: seen in four of five repetitions of the experiment."""
DRAWS: Final = 1_000_000
"""For the quantiles of Student's t, which numpy draws and does not invert: exact to about 1 %."""
FEWEST: Final = 2


class Measure(msgspec.Struct, frozen=True):
    """A number of a seed's row."""

    name: str
    of: Callable[[SeedRow], float | None]


MEASURES: Final = (
    Measure("survived", lambda row: float(row.survived)),
    Measure("deaths", lambda row: row.deaths),
    Measure("best_score", lambda row: row.best_score),
    Measure("agreement_with_planner", lambda row: row.agreement_with_planner),
    Measure(
        "interventions",
        lambda row: row.shield_interventions + row.arrival_saves + row.emergency_saves,
    ),
    Measure("decisions", lambda row: row.decisions),
    Measure("answers_discarded", lambda row: row.answers_discarded),
    Measure("latency_ms_p50", lambda row: row.latency_ms_p50),
)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of B less that of A, over the pairs that have it."""

    name: str
    pairs: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    """The 95 % interval of the mean difference."""
    smallest_detectable: float
    """A true difference of this size would be seen four times in five with so many seeds."""
    told_apart: bool
    """The interval is clear of zero, even if 95 % is asked of all measures together."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """B against A."""

    a: str
    b: str
    seeds: list[int]
    left_out: list[int]
    """Seeds that one of them has alone."""
    across: dict[str, list[object]]
    """Settings that differ and were allowed to, with A's and B's value."""
    differences: list[Difference]

    @property
    def sentence(self) -> str:
        """Whether the data can tell the two apart."""
        count = len(self.seeds)
        found = [item for item in self.differences if item.told_apart]
        if found:
            listed = ", ".join(f"{item.name} {item.difference:+.3g}" for item in found)
            return f"These {count} seeds tell the two apart; B less A: {listed}."
        score = next(item for item in self.differences if item.name == "best_score")
        unseen = (
            f"a difference in the best score below {score.smallest_detectable:.3g} would mostly "
            "go unseen"
            if score.smallest_detectable
            else "the best scores differ by the same on every seed"
        )
        return f"These {count} seeds cannot tell the two apart; {unseen}."


def compare(
    a: Results,
    b: Results,
    names: tuple[str, str] = ("A", "B"),
    across: Collection[str] = (),
) -> Comparison:
    """Compare run B with run A by their common seeds.

    ``across`` are settings that may differ because they are what is compared.

    Raises:
        RunError: other settings differ (all are named), or there are too few common seeds.
    """
    settings_a, settings_b = _settings(a), _settings(b)
    unknown = sorted(set(across) - settings_a.keys())
    if unknown:
        raise RunError(f"unknown setting {', '.join(unknown)}; there are {', '.join(settings_a)}")
    differing = {
        key: [settings_a[key], settings_b[key]]
        for key in settings_a
        if settings_a[key] != settings_b[key]
    }
    refused = [f"{key} ({x!r}, {y!r})" for key, (x, y) in differing.items() if key not in across]
    if refused:
        raise RunError(f"the runs cannot be compared, their settings differ: {'; '.join(refused)}")
    rows_a, rows_b = _by_seed(a, names[0]), _by_seed(b, names[1])
    seeds = sorted(rows_a.keys() & rows_b.keys())
    if len(seeds) < FEWEST:
        raise RunError(
            f"the runs have {len(seeds)} common seeds; at least {FEWEST} are needed, and 10 to "
            "20 to see anything but large differences"
        )
    return Comparison(
        a=names[0],
        b=names[1],
        seeds=seeds,
        left_out=sorted(rows_a.keys() ^ rows_b.keys()),
        across=differing,
        differences=[
            found
            for measure in MEASURES
            if (found := _difference(measure, [(rows_a[seed], rows_b[seed]) for seed in seeds]))
        ],
    )


def table(found: Comparison) -> str:
    """The comparison in columns, with its sentence."""
    lines = [
        f"A: {found.a}",
        f"B: {found.b}",
        f"{len(found.seeds)} common seeds"
        + (f", {len(found.left_out)} left out" if found.left_out else ""),
        *(f"{key}: A {x}, B {y}" for key, (x, y) in found.across.items()),
        "",
        f"{'':<24}{'A':>10}{'B':>10}{'B - A':>10}   {'95 % interval':<22}{'detectable':>10}",
    ]
    for item in found.differences:
        interval = f"{_number(item.low)} to {_number(item.high)}"
        lines.append(
            f"{item.name:<24}{_number(item.mean_a):>10}{_number(item.mean_b):>10}"
            f"{_number(item.difference):>10}   {interval:<22}"
            f"{_number(item.smallest_detectable):>10}{'  *' if item.told_apart else ''}"
        )
    return "\n".join([*lines, "", found.sentence])


def interval(differences: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The bootstrap interval of the mean of at least two differences; see the module."""
    values = np.asarray(differences, dtype=np.float64)
    count = len(values)
    generator = np.random.default_rng(0)
    means = values[generator.integers(0, count, (RESAMPLES, count))].mean(axis=1)
    widened = math.sqrt(count / (count - 1)) * student_t(1 - (1 - confidence) / 2, count - 1)
    tail = statistics.NormalDist().cdf(-widened)
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def smallest_detectable(differences: Sequence[float]) -> float:
    """The true mean difference that is seen with a probability of 0.8 at a level of 0.05."""
    count = len(differences)
    error = statistics.stdev(differences) / math.sqrt(count)
    return error * (student_t(1 - (1 - CONFIDENCE) / 2, count - 1) + student_t(POWER, count - 1))


@lru_cache(maxsize=256)
def student_t(probability: float, freedom: int) -> float:
    """A quantile of Student's t above the median, from draws with a fixed seed."""
    drawn = np.abs(np.random.default_rng(freedom).standard_t(freedom, DRAWS))
    return float(np.quantile(drawn, 2 * probability - 1))


def _difference(measure: Measure, pairs: Sequence[tuple[SeedRow, SeedRow]]) -> Difference | None:
    values = [
        (x, y)
        for row_a, row_b in pairs
        if (x := measure.of(row_a)) is not None and (y := measure.of(row_b)) is not None
    ]
    if len(values) < FEWEST:
        return None
    differences = [y - x for x, y in values]
    low, high = interval(differences)
    # All measures are looked at together: Bonferroni's share of the error for each.
    strict_low, strict_high = interval(differences, 1 - (1 - CONFIDENCE) / len(MEASURES))
    return Difference(
        name=measure.name,
        pairs=len(values),
        mean_a=statistics.fmean(x for x, _ in values),
        mean_b=statistics.fmean(y for _, y in values),
        difference=statistics.fmean(differences),
        low=low,
        high=high,
        smallest_detectable=smallest_detectable(differences),
        told_apart=strict_low > 0 or strict_high < 0,
    )


def _settings(results: Results) -> dict[str, object]:
    summary = results.summary
    settings = {name: getattr(summary, name) for name in Settings.__struct_fields__}
    rules = results.rules or Rules()
    return settings | {name: getattr(rules, name) for name in Rules.__struct_fields__}


def _by_seed(results: Results, name: str) -> dict[int, SeedRow]:
    rows = {row.seed: row for row in results.results}
    if len(rows) < len(results.results):
        raise RunError(f"{name} has a seed twice")
    return rows


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
