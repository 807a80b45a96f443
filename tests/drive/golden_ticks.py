"""The golden tick sequences as dictionaries."""

import math
from typing import Any

WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def plain(value: Any) -> Any:
    return WORDS.get(value, value) if isinstance(value, str) else value


def ticks_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Unpack the run-length coded columns of one case."""
    rows: list[dict[str, Any]] = [{} for _ in range(case["n_ticks"])]
    for name, runs in case["ticks"].items():
        index = 0
        for value, count in runs:
            for row in rows[index : index + count]:
                if not (isinstance(value, dict) and value.get("absent")):
                    row[name] = plain(value)
            index += count
    return rows
