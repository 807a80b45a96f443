"""The measured promises as a table, as JSON and as Markdown."""

from typing import Any

from rich.console import Console
from rich.table import Table

from bench import budgets
from bench.measure import Measurement
from bench.promises import Promise, shown

COLUMNS = ("promise", "value", "reference", "ratio", "gate", "target", "p50 / p95 / p99 / max")


def row(promise: Promise, measured: Measurement) -> dict[str, Any]:
    """One entry of promises.json."""
    kept = rounded(measured.ratio)
    entry: dict[str, Any] = {
        "name": promise.name,
        "value": rounded(measured.value),
        "reference": rounded(measured.reference),
        "ratio": kept,
        "target": promise.target,
        "gate": promise.gate,
        "pass": measured.ratio >= promise.gate,
        "unit": promise.unit,
        "target_met": measured.ratio >= promise.target,
        "what": promise.what,
        "against": promise.reference,
        "rounds": measured.rounds,
        "reference_rounds": measured.reference_rounds,
    }
    entry.update({name: rounded(number) for name, number in measured.statistics.items()})
    if promise.goal is not None:
        found = measured.statistics.get(promise.goal.statistic, measured.value)
        entry["goal"] = str(promise.goal)
        entry["goal_met"] = promise.goal.met(found)
    return entry


def rounded(number: float) -> float:
    """Four significant digits: more than the machine's noise leaves."""
    return float(f"{number:.4g}")


def cells(entry: dict[str, Any]) -> tuple[str, ...]:
    unit = entry["unit"]
    statistics = [entry[name] for name in ("p50", "p95", "p99", "max") if name in entry]
    spread = " / ".join(shown(number) for number in statistics)
    if statistics:
        spread += f" {'ms' if unit.endswith('/s') else unit}"
    if "goal" in entry:
        spread += f" ({entry['goal']}: {'met' if entry['goal_met'] else 'not met'})"
    return (
        entry["name"],
        f"{shown(entry['value'])} {unit}",
        f"{shown(entry['reference'])} {unit}",
        f"{shown(entry['ratio'])}×" + ("" if entry["pass"] else " ✗"),
        f"{shown(entry['gate'])}×",
        f"{shown(entry['target'])}×" + (" ✓" if entry["target_met"] else ""),
        spread.strip(),
    )


def print_table(entries: list[dict[str, Any]], console: Console) -> None:
    table = Table(title="Promises", caption="✗ below the gate, ✓ target met")
    for index, column in enumerate(COLUMNS):
        table.add_column(column, justify="left" if index in (0, 6) else "right")
    for entry in entries:
        style = None if entry["target_met"] else "yellow" if entry["pass"] else "bold red"
        table.add_row(*cells(entry), style=style)
    console.print(table)


def markdown(entries: list[dict[str, Any]], machine: str) -> str:
    lines = [
        f"Measured on {machine}.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"| --- |{' ---: |' * 5} --- |",
        *(f"| {' | '.join(cells(entry))} |" for entry in entries),
        "",
        *([shares, ""] if (shares := budgets.markdown(entries)) else []),
        *(
            f"- `{entry['name']}`: {entry['what']}; against {entry['against']}."
            for entry in entries
        ),
    ]
    return "\n".join(lines) + "\n"
