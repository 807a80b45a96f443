"""Draws docs/arrows.svg: which layer knows which.

python tools/docs/arrows.py            # writes it
python tools/docs/arrows.py --check    # exit code 1 if the file says something else
"""

import sys
from pathlib import Path

PICTURE = Path(__file__).parents[2] / "docs" / "arrows.svg"
WIDTH, LEFT, RIGHT = 880, 120, 760
BAND, GAP, BOX = 84, 44, 56

LAYERS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    (
        "faces",
        "#f7fafc",
        (
            ("sysone.cli", "one command over all worlds"),
            ("sysone.viewer", "one page for all worlds"),
            ("sysone.doctor", "what is here, what is not"),
        ),
    ),
    (
        "worlds",
        "#ebf8ff",
        (
            ("sysone.trex", "ask · decide · pilot"),
            ("sysone.arc", "observe · policy · play"),
            ("sysone.drive", "agents · criteria · score"),
            ("sysone.arena", "match · strategy · replay"),
        ),
    ),
    (
        "services",
        "#f0fff4",
        (
            ("sysone.systemone", "questions, client, server, model"),
            ("sysone.executors", "processes here, or Ray"),
            ("sysone.runs", "files, folders, logs, progress"),
        ),
    ),
    (
        "core",
        "#fffaf0",
        (("sysone_core", "typed Python names of the compiled modules; numba's and NumPy's grids"),),
    ),
    ("C++20", "#fff5f5", (("csrc/<world>", "simulators, planner, rules, wire: knows no Python"),)),
)
"""Name, colour and boxes of each layer, from the one that knows most to the one that knows none."""


def top(layer: int) -> int:
    """Where a layer's band begins."""
    return 16 + layer * (BAND + GAP)


def boxes(layer: int) -> list[str]:
    """A layer's band and its boxes."""
    name, colour, inside = LAYERS[layer]
    y = top(layer)
    width = (RIGHT - LEFT - 14 * (len(inside) + 1)) / len(inside)
    found = [
        f'<rect x="{LEFT}" y="{y}" width="{RIGHT - LEFT}" height="{BAND}" rx="10" '
        'fill="none" stroke="#cbd5e0" stroke-dasharray="4 3"/>',
        f'<text x="{LEFT - 14}" y="{y + BAND / 2 + 5}" text-anchor="end" '
        f'fill="#4a5568" font-style="italic">{name}</text>',
    ]
    for number, (title, told) in enumerate(inside):
        x = LEFT + 14 + number * (width + 14)
        middle = x + width / 2
        title = title.replace("<", "&lt;").replace(">", "&gt;")
        found += [
            f'<rect x="{x:.1f}" y="{y + 14}" width="{width:.1f}" height="{BOX}" rx="6" '
            f'fill="{colour}" stroke="#4a5568" stroke-width="1.5"/>',
            f'<text x="{middle:.1f}" y="{y + 38}" text-anchor="middle" font-weight="bold">'
            f"{title}</text>",
            f'<text x="{middle:.1f}" y="{y + 57}" text-anchor="middle" font-size="11">'
            f"{told}</text>",
        ]
    return found


def arrow(points: str) -> str:
    """A line through points, with a head at its end."""
    return (
        f'<polyline points="{points}" fill="none" stroke="#4a5568" stroke-width="2" '
        'marker-end="url(#head)"/>'
    )


def picture() -> str:
    """The SVG's text."""
    height = top(len(LAYERS)) - GAP + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="14" fill="#1a202c">',
        "<title>Which layer knows which: arrows point from the one that knows to the one that is "
        "known</title>",
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        'markerHeight="7" orient="auto-start-reverse">'
        '<path d="M0,0 L10,5 L0,10 z" fill="#4a5568"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for layer in range(len(LAYERS)):
        parts += boxes(layer)
        if layer:
            parts.append(arrow(f"440,{top(layer) - GAP} 440,{top(layer) - 1}"))
    # Past the services: worlds and faces use the core directly, too.
    worlds, core = top(1) + BAND / 2, top(3) + BAND / 2
    faces = top(0) + BAND / 2
    parts += [
        arrow(f"{RIGHT},{worlds} 800,{worlds} 800,{core} {RIGHT + 1},{core}"),
        f'<polyline points="{RIGHT},{faces} 800,{faces} 800,{worlds}" fill="none" '
        'stroke="#4a5568" stroke-width="2"/>',
        f'<text x="808" y="{worlds + 60}" font-size="11" fill="#4a5568">directly</text>',
        f'<text x="456" y="{top(1) - 16}" font-size="11" fill="#4a5568">each world, when it is '
        "used</text>",
        f'<text x="456" y="{top(2) - 16}" font-size="11" fill="#4a5568">every world knows all '
        "three, and no other world</text>",
        f'<text x="456" y="{top(3) - 16}" font-size="11" fill="#4a5568">allowed, not used '
        "yet</text>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def main() -> int:
    """Writes or checks the picture."""
    text = picture()
    if "--check" in sys.argv[1:]:
        return int(PICTURE.read_text(encoding="utf-8") != text)
    PICTURE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
