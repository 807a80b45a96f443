"""Write the result tables of README.md from the kept result file of a real run.

python tools/docs/readme_tables.py            rewrite README.md
python tools/docs/readme_tables.py --check    exit 1 if it differs
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
RESULT = ROOT / "examples" / "t_rex" / "results" / "local_realtime.json"

BASELINES = {
    "shield_only": "shield only, no answers",
    "planner_best": "the planner's best action",
    "random_safe": "a random safe action",
    "random": "a random action",
}


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def result_table(file: dict[str, Any]) -> str:
    """A row for each seed."""
    header = ["seed", "survived", "score", "decisions", "agreement", "latency p50 / p95 ms"]
    header += ["model p50 ms", "planner p99 ms", "late frames", "discarded", "saves"]
    rows = [
        [
            str(row["seed"]),
            "yes" if row["survived"] else f"no ({row['deaths']} deaths)",
            str(row["best_score"]),
            str(row["decisions"]),
            str(row["agreement_with_planner"]),
            f"{row['latency_ms_p50']} / {row['latency_ms_p95']}",
            str(row["model_ms_p50"]),
            str(row["planner_ms_p99"]),
            f"{row['late_frames_share']:.2%}",
            str(row["answers_discarded"]),
            str(row["shield_interventions"] + row["arrival_saves"] + row["emergency_saves"]),
        ]
        for row in file["results"]
    ]
    return table(header, rows)


def baseline_table(file: dict[str, Any]) -> str:
    """A row for each way to play without a model."""
    seeds = file["summary"]["seeds"]
    rows = [
        [
            words,
            f"{file['baselines'][name]['survived']} of {seeds}",
            str(file["baselines"][name]["deaths"]),
            str(file["baselines"][name]["mean_best_score"]),
        ]
        for name, words in BASELINES.items()
    ]
    return table(["who answers", "survived", "deaths", "mean best score"], rows)


def replaced(text: str, name: str, content: str) -> str:
    """``text`` with new content between the two comments of this name."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    if not after:
        raise SystemExit(f"README.md lacks the lines {start} and {end}")
    return f"{before}{start}\n{content}\n{end}{after}"


def main(arguments: list[str]) -> int:
    """Rewrite or check; returns the exit code."""
    file = json.loads(RESULT.read_text())
    old = README.read_text()
    new = replaced(old, "result table", result_table(file))
    new = replaced(new, "baseline table", baseline_table(file))
    if arguments == ["--check"]:
        return int(new != old)
    README.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
