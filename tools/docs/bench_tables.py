"""Numbers of benches in the pages, from bench/RESULTS.md, so that none is typed twice.

    python tools/docs/bench_tables.py            # writes the tables anew
    python tools/docs/bench_tables.py --check    # exit code 1 if a page says something else

A page has ``<!-- bench: NAME NAME … -->`` and ``<!-- end of bench -->``; what stands between them
is the table. ``NAME`` may be a pattern: ``drive.*``.
"""

import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "RESULTS.md"
TABLE = re.compile(r"(<!-- bench: ([^>]*?) -->\n).*?(<!-- end of bench -->)", re.DOTALL)


@dataclass(frozen=True)
class Result:
    """One line of the results."""

    name: str
    value: str
    reference: str
    ratio: str
    target: str
    what: str
    against: str


def results(text: str) -> dict[str, Result]:
    """The measured promises of a results file, in their order."""
    told = dict(re.findall(r"^- `([\w.]+)`: (.*)\.$", text, re.MULTILINE))
    found = {}
    for row in re.findall(r"^\| (\w+\.\w+) \|(.*)\|$", text, re.MULTILINE):
        name, cells = row[0], [cell.strip() for cell in row[1].split("|")]
        what, _, against = told[name].rpartition("; against ")
        found[name] = Result(name, cells[0], cells[1], cells[2], cells[4], what, against)
    return found


def table(names: str, known: dict[str, Result]) -> str:
    """The table of the named benches.

    Raises:
        ValueError: a name that was not measured.
    """
    lines = ["| what | here | against | | ratio |", "| --- | ---: | --- | ---: | ---: |"]
    for pattern in names.split():
        matching = [result for name, result in known.items() if fnmatch(name, pattern)]
        if not matching:
            raise ValueError(f"bench/RESULTS.md has no {pattern}")
        lines += [
            f"| {one.what} (`{one.name}`) | {one.value} | {one.against} "
            f"| {one.reference} | **{one.ratio}** |"
            for one in matching
        ]
    return "\n".join(lines) + "\n"


def filled(text: str, known: dict[str, Result]) -> str:
    """A page's text with its tables as the results have them."""
    return TABLE.sub(lambda match: f"{match[1]}{table(match[2], known)}{match[3]}", text)


def main() -> int:
    """Writes or checks every page."""
    known = results(RESULTS.read_text(encoding="utf-8"))
    old = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        new = filled(text, known)
        if new == text:
            continue
        old.append(path.relative_to(ROOT).as_posix())
        if "--check" not in sys.argv[1:]:
            path.write_text(new, encoding="utf-8")
    for name in old:
        print(name, file=sys.stderr)
    return 1 if old and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
