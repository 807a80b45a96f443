import pytest

from bench import promises
from bench.budgets import BUDGETS, markdown, turn_ms


def row(name: str, unit: str, value: float, **statistics: float) -> dict[str, object]:
    return {"name": name, "unit": unit, "value": value, **statistics}


def test_every_budget_is_measured_by_a_promise() -> None:
    names = {promise.name for promise in promises.load()}
    assert {budget.promise for budget in BUDGETS} <= names


@pytest.mark.parametrize(
    ("entry", "statistic", "ms"),
    [
        (row("a.b", "µs", 4.0, p50=4.1, p99=6.7), "p99", 0.0067),
        (row("a.b", "ms", 5.0), "p50", 5.0),
        (row("a.b", "ms", 5.0), "p99", None),
        (row("a.b", "1/s", 2000.0), "p50", 0.5),
        (row("a.b", "requests/s", 2000.0, p99=0.1), "p99", 0.1),
    ],
)
def test_a_turn_in_ms(entry: dict[str, object], statistic: str, ms: float | None) -> None:
    assert turn_ms(entry, statistic) == (None if ms is None else pytest.approx(ms))


def test_the_table_has_shares_of_what_was_measured() -> None:
    table = markdown([row("trex.frame", "µs", 4.0, p50=16.667, p99=166.67)])
    assert "16.67 ms | 0.0167 ms | 0.1 % | 0.167 ms | 1 %" in table
    assert table.count("\n| T-Rex") == 1
    assert markdown([]) == ""
