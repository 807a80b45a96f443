"""``new-agent``: a strategy's directory to begin with."""

from pathlib import Path
from string import Template
from typing import Final

from sysone.arena.errors import ArenaError
from sysone.arena.manifest import KEY
from sysone.arena.rules import models
from sysone.arena.rules.settings import Season
from sysone.runs.atomic import write_text

MANIFEST: Final = Template("""\
[strategy]
key = "$key"
name = "$name"
version = "0.1.0"
authors = []
season = "$season"
mode = "$mode"
entry = "main:act"
sdk = 1
""")
ROBOT: Final = Template("""
[robot]
model = $model
""")
TEAM_MAIN: Final = '''\
"""What every robot of the team does, ten times a second."""

from typing import Any


def act(observation: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """One action for each robot that should do something; the others hold."""
    actions: dict[str, Any] = {}
    for slot, robot in observation["robots"].items():
        if robot["role"] in ("infantry", "sentry") and robot["alive"]:
            actions[slot] = {"spin": 0.5, "fire": True}
    return actions
'''
ROBOT_MAIN: Final = '''\
"""What this robot does, ten times a second."""

from typing import Any


def act(observation: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """The robot's own action, under its slot."""
    slot = str(observation["self"])
    robot = observation["robots"][slot]
    if not robot["alive"]:
        return {}
    return {slot: {"spin": 0.5, "fire": True}}
'''
TEST: Final = Template('''\
"""The strategy is accepted and plays: run with pytest."""

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent


def test_it_is_accepted() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rmuc_arena", "validate", "./" + FOLDER.name, "--trusted-local"],
        cwd=FOLDER.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["ok"]
''')
README: Final = Template("""\
# $name

```sh
rmuc-arena validate ./$folder
$play
```
""")
TEAM_PLAY: Final = "rmuc-arena run --red ./$folder --games 10 --swap-sides"
ROBOT_PLAY: Final = (
    "rmuc-arena assemble --team-out ./${folder}_team --robot $slot=./$folder\n"
    "rmuc-arena run --red ./${folder}_team --games 10 --swap-sides"
)


def new_agent(
    name: str, *, season: Season, mode: str, model: int | None, parent: Path
) -> list[Path]:
    """Write a new strategy's directory ``parent/name``; returns its files.

    Raises:
        ArenaError: the name is no key, the directory is there, or the model does not fit.
    """
    if not KEY.fullmatch(name):
        raise ArenaError("usage", f"NAME must be 3 to 64 of a-z, 0-9 and _, not {name!r}")
    if mode not in ("team", "robot"):
        raise ArenaError("usage", f"--mode must be team or robot, not {mode!r}")
    numbers = models.numbers(season)
    if (mode == "robot") != (model is not None):
        raise ArenaError("usage", "--mode robot needs --model, and --mode team has none")
    if model is not None and model not in numbers:
        known = ", ".join(map(str, sorted(numbers)))
        raise ArenaError("usage", f"--model {model} is none of season {season}: {known}")
    folder = parent / name
    if folder.exists():
        raise ArenaError("exists", f"{folder} is already there; nothing was written")
    words = {
        "key": name,
        "name": name.replace("_", " ").capitalize(),
        "season": season,
        "mode": mode,
        "model": str(model),
        "folder": name,
        "slot": str(_slot(season, model)) if model is not None else "",
    }
    robot = mode == "robot"
    play = Template(ROBOT_PLAY if robot else TEAM_PLAY).substitute(words)
    contents = {
        "arena.toml": MANIFEST.substitute(words) + (ROBOT.substitute(words) if robot else ""),
        "main.py": ROBOT_MAIN if robot else TEAM_MAIN,
        "tests/test_smoke.py": TEST.substitute(words),
        "README.md": README.substitute(words, play=play),
    }
    for file, text in contents.items():
        write_text(folder / file, text)
    return [folder / file for file in contents]


def _slot(season: Season, model: int) -> int:
    """A slot that the model fits."""
    file = models.catalogue()
    role = file.models[str(model)].role
    return next(int(slot) for slot, takes in file.slots[season].items() if takes == role)
