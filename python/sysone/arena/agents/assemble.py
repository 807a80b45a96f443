"""``assemble``: robot strategies, one a slot, as one team strategy."""

import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any, Final

from sysone.arena import lineup as lineups
from sysone.arena import manifest as manifests
from sysone.arena import sources
from sysone.arena.errors import ArenaError
from sysone.arena.rules.settings import season_named
from sysone.runs.atomic import write_json, write_text

MAIN: Final = '''\
"""Robot strategies side by side; made by ``rmuc-arena assemble``."""

from pathlib import Path

from sysone.arena.sdk.assembled import Assembled

_team = Assembled(Path(__file__).parent)
reset, act = _team.reset, _team.act
'''
MANIFEST: Final = Template("""\
[strategy]
key = "$key"
name = "$name"
version = "1.0.0"
season = "$season"
mode = "team"
entry = "main:act"
sdk = 1

[roster]
lock = true
robots = [$robots]
""")


def assemble(target: Path, refs: Mapping[int, str]) -> dict[str, Any]:
    """Write a team strategy that drives each slot by its own robot strategy.

    Raises:
        ArenaError: the directory is there, a strategy is no robot's or of another season, or the
            line-up is not allowed.
    """
    if not manifests.KEY.fullmatch(target.name):
        raise ArenaError(
            "usage", f"--team-out must end in 3 to 64 of a-z, 0-9 and _, not {target.name!r}"
        )
    if target.exists():
        raise ArenaError("exists", f"{target} is already there; nothing was written")
    parts = {slot: sources.find(ref) for slot, ref in sorted(refs.items())}
    seasons = {strategy.manifest.strategy.season for strategy in parts.values()}
    if len(seasons) != 1:
        raise ArenaError("usage", f"robots must be of one season, not {sorted(seasons)}")
    season = season_named(seasons.pop())
    line: dict[int, int] = {}
    for slot, strategy in parts.items():
        if strategy.manifest.robot is None:
            raise ArenaError("usage", f"--robot {slot}: {strategy.key} drives a whole team")
        line[slot] = strategy.manifest.robot.model
    lineups.validate(line, season)
    rows = []
    for slot, strategy in parts.items():
        for name, path in manifests.files(strategy.folder):
            copy = target / "parts" / str(slot) / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        rows.append(
            {
                "slot": slot,
                "entry": strategy.manifest.strategy.entry,
                **strategy.identity(),
            }
        )
    write_json(target / "parts.json", rows, indent=1)
    write_text(target / "main.py", MAIN)
    robots = ", ".join(f"{{slot = {slot}, model = {model}}}" for slot, model in line.items())
    text = MANIFEST.substitute(
        key=target.name, name=target.name.replace("_", " "), season=season, robots=robots
    )
    tomllib.loads(text)
    write_text(target / manifests.MANIFEST, text)
    found = sources.load(target)
    return {"type": "assemble", "folder": str(target), **found.identity(), "parts": rows}
