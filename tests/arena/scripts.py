"""Scripted matches with random actions, as text for the small program around the core."""

import json
import random
from pathlib import Path
from typing import Any

from sysone.arena import lineup
from sysone.arena.rules import models
from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import Season
from sysone_core import arena as core

DECKS: dict[str, list[dict[int, int]]] = {
    "2026": [
        {1: 2612, 2: 2631, 3: 2632, 4: 2633, 5: 2634, 6: 2671},
        {1: 2611, 2: 2622, 3: 2661, 4: 2672, 5: 2632, 6: 2631},
        {1: 2621, 2: 2631, 3: 2672},
    ],
    "2027": [
        {1: 2711, 2: 2731, 3: 2732, 4: 2761, 5: 2771},
        {1: 2712, 2: 2733, 3: 2734, 4: 2762, 5: 2772},
        {1: 2773, 2: 2731, 3: 2732},
    ],
}


def random_robot(dice: random.Random, model: dict[str, Any], enemies: list[str]) -> dict[str, Any]:
    """Commands and orders that the model may be given."""
    action: dict[str, Any] = {}
    maybe = lambda p: dice.random() < p  # noqa: E731 - read as one word below
    if maybe(0.9):
        action["move"] = [round(dice.uniform(-1, 1), 3), round(dice.uniform(-1, 1), 3)]
    if maybe(0.2):
        action["frame"] = "body"
    if maybe(0.2):
        action["heading"] = round(dice.uniform(-7, 7), 3)
    if maybe(0.3):
        action["spin"] = round(dice.uniform(-1, 1), 3)
    if maybe(0.2):
        action["follow"] = True
    if maybe(0.4):
        action["power"] = dice.choice(["safe", "boost", "raw"])
    if maybe(0.6):
        action["aim"] = dice.choice(
            [
                {"target": dice.choice([*enemies, "base", "outpost", "rune"])},
                {"point": [round(dice.uniform(0, 28), 3), round(dice.uniform(0, 15), 3), 0.5]},
                {"yaw": round(dice.uniform(-4, 4), 3), "pitch": 0.1},
            ]
        )
    armed, role = model["calibre"] != 0, model["role"]
    if armed and maybe(0.8):
        action["fire"] = dice.choice([True, True, "free"])
        action["fire_guard"] = maybe(0.7)
    if maybe(0.05):
        action["revive"] = dice.choice([True, "buy"])
    ground = model["chassis"] != "flyer"
    if maybe(0.06) and armed and ground:
        kind = f"ammo_{model['calibre']}"
        orders = [{kind: 10}, {kind: 50}, {"remote_ammo": True}]
        orders += [{"remote_heal": True}]
        orders += [{"sentry_minute": True}] if role == "sentry" else []
        action["buy"] = dice.choice(orders)
    if role == "sentry" and maybe(0.05):
        action["posture"] = dice.choice(["move", "attack", "defence"])
        action["strong"] = maybe(0.5)
    if model["deploys"] and maybe(0.1):
        action["deploy"] = maybe(0.7)
    if armed and ground and maybe(0.05):
        action["rune"] = "activate"
    if model["assembly_pct"] and maybe(0.3):
        action[dice.choice(["pick", "assemble"])] = True
    if model["needs_module"] and maybe(0.3):
        action["mount"] = True
    if not ground and armed and maybe(0.1):
        action["support"] = dice.choice([True, False, "paid"])
    if model["drones"] and maybe(0.2):
        to = [round(dice.uniform(0, 27), 3), round(dice.uniform(0, 14), 3)]
        orders = []
        if model["recon"]:
            orders += [{"mode": "recon", "to": to}, {"mode": "intercept", "to": to}]
        if model["strikes"]:
            orders += [{"mode": "strike", "target": t} for t in ("base", "outpost")]
        action["sortie"] = dice.choice(orders)
    if maybe(0.01):
        action["say"] = {"to": "team", "text": "on my way"}
    return action


def random_side(dice: random.Random, own: dict[int, Any], enemy: str, slots: list[int]) -> Any:
    """A side's action."""
    enemies = [f"{enemy}-{slot}" for slot in slots]
    side: dict[str, Any] = {
        str(slot): random_robot(dice, model, enemies)
        for slot, model in own.items()
        if dice.random() < 0.95
    }
    if dice.random() < 0.05:
        targets = ["outpost", "base_fixed", "base_random_fixed", "base_random_moving"]
        side["team"] = {
            "dart": {"open": True, "target": dice.choice([*targets, "base_end_moving"])},
            "radar": {"focus": slots[:2], "double": dice.random() < 0.2},
        }
    return side


def start_scenario(lines: list[dict[int, int]], book: Book) -> dict[str, Any]:
    """Ammunition for everybody, so that shots fly from the first second."""
    by_number = {model["model"]: model for model in book.models}
    return {
        "robots": {
            f"{side}-{slot}": {"ammo": 400}
            for side, line in zip(("red", "blue"), lines, strict=True)
            for slot, model in line.items()
            if by_number[model]["calibre"]
        }
    }


def script(
    season: Season,
    lines: list[dict[int, int]],
    deck: bool,
    seed: int,
    decisions: int,
    scenario: dict[str, Any] | None = None,
    repeat: int = 5,
) -> list[str]:
    """A match as commands: new random actions every ``repeat`` decisions."""
    book = Book.of(season)
    by_number = {model["model"]: model for model in book.models}
    dice = random.Random(f"{season} {seed}")
    sides = [",".join(f"{slot}:{model}" for slot, model in sorted(line.items())) for line in lines]
    out = [f"S {seed} 8400 {int(deck)} {sides[0]} {sides[1]}"]
    if scenario is not None:
        out.append("X " + json.dumps(scenario))
    own = [{slot: by_number[model] for slot, model in line.items()} for line in lines]
    texts = ["{}", "{}"]
    for k in range(decisions):
        if k % repeat == 0:
            texts = [
                json.dumps(random_side(dice, own[t], ("blue", "red")[t], sorted(lines[1 - t])))
                for t in (0, 1)
            ]
        out += [f"A {t} 0 {texts[t]}" for t in (0, 1)]
        out.append("T 2")
        if k % 97 == 0:
            out += ["O 0", "O 1"]
    out.append("D")
    return out


def golden_matches() -> dict[str, list[str]]:
    """The matches whose digests are kept."""
    found = {}
    for season in ("2026", "2027"):
        book = Book.of(season)  # type: ignore[arg-type]  # both are seasons
        line = lineup.default(season)  # type: ignore[arg-type]
        plain = [line, line]
        found[f"standard_{season}"] = script(season, plain, False, 11, 900)  # type: ignore[arg-type]
        found[f"armed_{season}"] = script(
            season, plain, False, 12, 900, start_scenario(plain, book)  # type: ignore[arg-type]
        )  # fmt: skip
        decks = DECKS[season][:2]
        found[f"deck_{season}"] = script(
            season, decks, True, 13, 900, start_scenario(decks, book)  # type: ignore[arg-type]
        )  # fmt: skip
        late = {**start_scenario(plain, book), "time": 175,
                "buildings": {"blue": {"outpost_hp": 0, "base_hp": 2500}}}  # fmt: skip
        found[f"late_{season}"] = script(season, plain, False, 14, 900, late)  # type: ignore[arg-type]
    return found


def fuzz(season: Season, decisions: int) -> list[str]:
    """Random decisions over every model of a season."""
    book = Book.of(season)
    decks = DECKS[season]
    used = {model for deck in decks for model in deck.values()}
    assert used == set(models.numbers(season)), "every model is in a deck"
    out = ["I 1"]
    parts = len(decks)
    for k in range(parts):
        lines = [decks[k], decks[(k + 1) % parts]]
        out += script(
            season, lines, True, 100 + k, decisions // parts, start_scenario(lines, book), repeat=1
        )
    return out


def rules_file(season: str, folder: Path) -> Path:
    """The rules as the small program reads them."""
    path = folder / f"rules{season}.json"
    path.write_text(Book.of(season).text)  # type: ignore[arg-type]
    return path


def play(lines: list[str], season: Season, recording: bool) -> list[str]:
    """The script in this process: what the small program prints for it."""
    rules = Book.of(season).compiled
    sim: core.Simulator | None = None
    digest = 0
    seed = 0
    printed: list[str] = []
    for line in lines:
        command, _, rest = line.partition(" ")
        if command == "S":
            seed_text, ticks, deck, *sides = rest.split()
            seed = int(seed_text)
            red, blue = (
                [tuple(int(n) for n in entry.split(":")) for entry in side.split(",")]
                for side in sides
            )
            sim = core.Simulator(rules, red, blue, seed, int(ticks), deck == "1")  # type: ignore[arg-type]
            sim.record(recording)
            digest = 0
            continue
        if command == "I":
            continue  # the small program alone looks at every number
        assert sim is not None
        if command == "X":
            assert sim.reset(seed, rest) is None
        elif command == "A":
            team, slot, text = rest.split(" ", 2)
            refused = sim.act(int(team), text, int(slot))
            if refused is not None:
                digest = core.xxh64("".join(refused).encode(), digest)
        elif command == "T":
            sim.advance(int(rest))
            digest = core.xxh64(sim.digests(), digest)
        elif command == "O":
            digest = core.xxh64(sim.observe(int(rest)), digest)
        elif command == "D":
            printed.append(f"{sim.tick} {digest:016x}")
    return printed
