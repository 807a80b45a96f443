"""Practice games as files in the toolkit's layout: ``<id>/<version>/`` with metadata and class."""

import json
import random
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zlib import crc32

from sysone.arc.practice.levels import (
    CLICKING,
    HELD_OUT,
    MAX_STATES,
    MECHANICS,
    TRIES,
    WALKING,
    find,
)
from sysone.runs.atomic import write_text

SUITE: Final = Path(__file__).parent / "environment_files"
"""The practice suite, shipped with the package."""
N_LEVELS: Final = 5
VERSION: Final = "v1"
HUD_KINDS: Final = ("bottom", "top", "right", "lamps")
SUITE_SEED: Final = "practice-1"

SUITE_IDS: Final = {name: f"p{name[:3]}" for name in MECHANICS}
"""Mechanic to the id of its game; the one with a HUD begins with h."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a game is made of."""

    name: str
    mechanics: tuple[tuple[str, ...], ...]
    """Those of each level."""
    seed: str
    hud: str | None


def suite_plans() -> list[Plan]:
    """Two games of each mechanic, without and with a HUD; their layouts differ."""
    plans = []
    for index, (name, id_) in enumerate(SUITE_IDS.items()):
        levels = ((name,),) * N_LEVELS
        plans.append(Plan(id_, levels, f"{SUITE_SEED}:{id_}", None))
        with_hud = f"h{id_[1:]}"
        hud = HUD_KINDS[index % len(HUD_KINDS)]
        plans.append(Plan(with_hud, levels, f"{SUITE_SEED}:{with_hud}", hud))
    return plans


def held_out_ids() -> list[str]:
    """Games of the suite whose mechanic is in no training set."""
    return [f"{first}{SUITE_IDS[name][1:]}" for name in HELD_OUT for first in "ph"]


def random_plan(seed: int, index: int) -> Plan:
    """A training game: levels that combine one to three mechanics, none of them held out."""
    rng = random.Random(crc32(f"generate:{seed}:{index}".encode()))
    walking = [name for name in WALKING if name not in HELD_OUT]
    clicking = [name for name in CLICKING if name not in HELD_OUT]
    levels: tuple[tuple[str, ...], ...]
    if rng.random() < 0.3:
        chosen = rng.sample(clicking, rng.choice([1, 2]))
        levels = tuple((chosen[number % len(chosen)],) for number in range(N_LEVELS))
    else:
        together = _together(rng, walking)
        # A mechanic is met alone before it is met with others, as good games do it.
        levels = tuple(
            together[: min(1 + number // 2, len(together))] for number in range(N_LEVELS)
        )
    hud = rng.choice([None, *HUD_KINDS])
    name = f"g{seed:04d}x{index:04d}"
    return Plan(name, levels, f"generated:{seed}:{index}", hud)


def held_out_plan(seed: int, index: int) -> Plan:
    """A game to measure with: one held-out mechanic in all of its levels, each in its turn."""
    rng = random.Random(crc32(f"held-out:{seed}:{index}".encode()))
    name = HELD_OUT[index % len(HELD_OUT)]
    hud = rng.choice([None, *HUD_KINDS])
    levels = ((name,),) * N_LEVELS
    return Plan(f"k{seed:04d}x{index:04d}", levels, f"held-out:{seed}:{index}", hud)


def _together(rng: random.Random, walking: list[str]) -> tuple[str, ...]:
    # Sliding and animated walking are both "on until a wall"; boxes and brittle floor multiply
    # each other's states beyond what the search for a baseline can hold.
    excluded = [{"slide", "animated"}, {"push", "undo"}, {"push", "slide"}, {"push", "animated"}]
    while True:
        chosen = rng.sample(walking, rng.choice([1, 2, 2, 3]))
        if not any(pair <= set(chosen) for pair in excluded):
            return tuple(chosen)


def write_game(folder: Path, plan: Plan, tries: int = TRIES, max_states: int = MAX_STATES) -> Path:
    """Search the levels of a game and write it below ``folder``; its own folder.

    Raises:
        ValueError: no level was found for the seed.
        RunError: the folder cannot be written.
    """
    found = [
        find(names, number, plan.seed, tries, max_states)
        for number, names in enumerate(plan.mechanics)
    ]
    attempts, baselines = zip(*found, strict=True)
    target = folder / plan.name / VERSION
    tags = sorted({name for names in plan.mechanics for name in names})
    metadata = {
        "game_id": f"{plan.name}-{VERSION}",
        "title": plan.name.upper(),
        "tags": ["practice", *tags, *(["hud"] if plan.hud else [])],
        "baseline_actions": baselines,
        "class_name": plan.name.capitalize(),
        "default_fps": 5,
        "date_downloaded": "2026-01-01T00:00:00Z",
    }
    source = f'''"""Practice game {plan.name}: {", ".join(tags)}."""

from sysone.arc.practice.engine import practice_game

{plan.name.capitalize()} = practice_game(
    {plan.name!r},
    mechanics={plan.mechanics!r},
    seed={plan.seed!r},
    attempts={attempts!r},
    baselines={baselines!r},
    hud={plan.hud!r},
)
'''
    write_text(target / f"{plan.name}.py", source)
    write_text(target / "metadata.json", json.dumps(metadata) + "\n")
    return target


def write_suite(folder: Path = SUITE) -> None:
    """Write the practice suite anew; the same files every time.

    As a command: ``python -m sysone.arc.practice.build``.
    """
    for plan in suite_plans():
        write_game(folder, plan)


def generate(folder: Path, seed: int, count: int, held_out: bool = False) -> list[Path]:
    """Write ``count`` games of a seed below ``folder``: to train with, or ``held_out`` ones.

    Raises:
        RunError: the folder cannot be written.
    """
    written: list[Path] = []
    index = 0
    plan_of = held_out_plan if held_out else random_plan
    while len(written) < count:
        # Few tries, and on to another game: that costs less than a level that hardly a seed has.
        with suppress(ValueError):
            written.append(write_game(folder, plan_of(seed, index), 30, 5_000))
        index += 1
    return written


if __name__ == "__main__":
    write_suite()
