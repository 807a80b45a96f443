"""Print docs/arena-state.md: every word of a match's state, from the core's own list.

python tools/arena/make_state_table.py > docs/arena-state.md
"""

from itertools import groupby

from sysone_core import arena as core

HEAD = """# Arena: the state of a match

Made by `tools/arena/make_state_table.py` from `csrc/arena/core/state_fields.def`, as are the
struct, its encoding, the digest and the full state that `rmuc-arena replay show` prints. Every
field is a row of 32-bit words, in this order. A tick's digest is XXH64 over the format (1), the
tick, the phase, the match, both teams, the robots by team and slot, the projectiles by id and the
codes of the tick's events; numbers are little-endian. Positions are in µm, heights in mm, speeds in
mm/s, angles in 1/2^20 turn, heat, energy and power in thousandths, experience in tenths, times in
ticks of 50 ms."""


def table() -> str:
    """The page."""
    parts = [HEAD]
    for group, rows in groupby(core.state_fields(), key=lambda row: row[0]):
        parts.append(
            f"\n## {group.capitalize()}\n\n| field | words | meaning |\n| --- | --- | --- |"
        )
        parts += [f"| `{name}` | {words} | {text} |" for _, name, words, text in rows]
    return "\n".join(parts)


if __name__ == "__main__":
    print(table())
