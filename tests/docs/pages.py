"""The pages that print commands: their blocks, what a block needs, and where it stands.

A fenced block of ``sh`` is run as it stands, and so is one of ``python``, as a script, in the order
of the page and in one folder and one shell. A block whose fence has ``title="FILE"`` is a file and
is written. Comments of Markdown, which no reader sees, say otherwise:

- ``<!-- needs: WORD, WORD -->`` above a block: what a machine may lack, by the words of `NEEDS`;
- ``<!-- run: terminals -->``: each line in a terminal of its own, begun in this order;
- ``<!-- run: until ready -->``: each line goes on until it is interrupted.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDS = {
    "carla-server": "a CARLA server",
    "clone": "a clone of the repository, and minutes to build it",
    "cluster": "a Ray cluster",
    "endpoint": "a System One endpoint on port 8700",
    "framework": "the ARC framework's checkout",
    "gpu": "a GPU",
    "key": "a key of somebody else's service",
    "names": "the reader's own names in place of capitals",
    "network": "other hosts",
    "person": "somebody at the keyboard",
    "time": "many minutes",
    "torch": "PyTorch",
    "weights": "weights of a large model",
}
"""Words of ``<!-- needs: -->``: why a block is not run, or is run only where that is there."""
RUNS = ("script", "terminals", "until ready")

BLOCK = re.compile(
    r"(?P<markers>(?:^<!-- [^\n]* -->\n+)*)"
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
MARKER = re.compile(r"<!-- (needs|run): ([^\n]*?) -->")
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    language: str
    title: str | None
    text: str
    needs: tuple[str, ...]
    run: str

    @property
    def place(self) -> str:
        """Page and line, as an editor opens it."""
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """Every page whose commands are held to what there is."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "bench" / "README.md"]
    found += [*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("README.md")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def blocks(text: str, page: str) -> list[Block]:
    """The fenced blocks of a page's text, in their order."""
    return [_block(match, text, page) for match in BLOCK.finditer(text)]


def _block(match: re.Match[str], text: str, page: str) -> Block:
    markers = dict(MARKER.findall(match["markers"]))
    words = match["info"].split()
    title = re.search(r'title="([^"]+)"', match["info"])
    needs = tuple(word.strip() for word in markers.get("needs", "").split(",") if word.strip())
    line = text.count("\n", 0, match.start("info")) + 1
    block = Block(
        page=page,
        line=line,
        language=words[0] if words else "",
        title=title[1] if title else None,
        text=match["text"],
        needs=needs,
        run=markers.get("run", "script"),
    )
    unknown = [word for word in needs if word not in NEEDS]
    if unknown:
        raise ValueError(f"{block.place} needs {unknown[0]!r}; the words are {', '.join(NEEDS)}")
    if block.run not in RUNS:
        raise ValueError(f"{block.place} has run: {block.run!r}; there are {', '.join(RUNS)}")
    return block


def inline_code(text: str) -> list[tuple[int, str]]:
    """Line and text of every code span outside of blocks."""
    blank = BLOCK.sub(lambda match: "\n" * match.group().count("\n"), text)
    return [(blank.count("\n", 0, m.start()) + 1, m[1]) for m in INLINE.finditer(blank)]


def read(page: str) -> str:
    """A page's text, by its path in the repository."""
    return (ROOT / page).read_text(encoding="utf-8")
