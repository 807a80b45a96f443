"""The rules' numbers, their sources and ranges, and which line-ups are legal."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sysone.arena import lineup
from sysone.arena.errors import ArenaError
from sysone.arena.rules import models, settings
from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import SEASONS
from sysone_core import arena as core

ROOT = Path(__file__).parents[2]
RULEBOOK = {
    "duration_s": 420,
    "base_hp": 5000,
    "base_shield": 150,
    "outpost_hp": 1500,
    "outpost_rebuild_hp": 750,
    "outpost_rebuild_per_base_loss": 1000,
    "outpost_rebuild_deadline_s": 300,
    "outpost_spin_mrad_s": 2513,
    "outpost_spin_stop_s": 180,
    "dmg_17_robot": 20,
    "dmg_42_robot": 200,
    "dmg_17_outpost": 20,
    "dmg_42_outpost": 200,
    "dmg_17_base_closed": 5,
    "dmg_17_base_open": 20,
    "dmg_42_base": 200,
    "dmg_collision": 2,
    "heat_per_17": 10,
    "heat_per_42": 100,
    "heat_fatal_17": 100,
    "heat_fatal_42": 200,
    "speed_17_mm_s": 25000,
    "buffer_energy_j": 60,
    "power_cut_s": 5,
    "energy_saving_w": 35,
    "chassis_energy_j": 20000,
    "chassis_energy_max_j": 40000,
    "energy_bonus_from_j": 25000,
    "energy_bonus_pct": 125,
    "energy_bonus_cap_w": 200,
    "out_of_combat_s": 6,
    "supply_heal_pct_s": 10,
    "supply_heal_late_pct_s": 25,
    "supply_heal_late_from_s": 240,
    "occupy_release_s": 2,
    "initial_coins": 400,
    "remote_ammo_coins": 150,
    "ammo_team_cap_17": 1000,
    "ammo_team_cap_42": 100,
    "sentry_initial_17": 300,
    "sentry_command_coins": 50,
    "aerial_initial_17": 750,
    "revive_base_s": 10,
    "revive_invulnerable_s": 30,
    "revive_fast_below_hp": 2000,
    "fortress_hold_s": 20,
    "rune_window_s": 20,
    "rune_small_s": 45,
    "dart_dmg_outpost": 750,
    "dart_dmg_base_end_moving": 1000,
    "radar_max": 120,
    "radar_marked": 100,
    "exp_levels": [0, 550, 1100, 1650, 2200, 2750, 3300, 3850, 4400, 5000],
    "income_at_s": [60, 120, 180, 240, 300, 360],
    "income_coins": [50, 50, 50, 50, 50, 150],
    "hero_ranged_hp": [200, 220, 240, 260, 280, 300, 320, 340, 360, 400],
    "infantry_power_hp": [150, 175, 200, 225, 250, 275, 300, 325, 350, 400],
    "burst_heat": [170, 180, 190, 200, 210, 220, 230, 240, 250, 260],
    "cooling_cooling": [12, 14, 16, 18, 20, 22, 24, 26, 28, 30],
}


def test_numbers_of_the_rulebook() -> None:
    table = settings.table("2026")
    assert {key: table[key].value for key in RULEBOOK} == RULEBOOK
    assert {table[key].tag for key in RULEBOOK} == {"R"}


def test_the_preview_changes_what_it_names_and_inherits_the_rest() -> None:
    old, new = settings.table("2026"), settings.table("2027")
    changed = {key for key in old if old[key].value != new[key].value}
    assert changed == {
        *("level_cap_by_tech", "energy_charge_j_s", "speed_42_melee_mm_s", "highground_capture_s"),
        *("crossing_tunnel_def_pct", "crossing_tunnel_buff_s", "tunnel_needs_middle"),
        *("tunnel_cooling_pct", "hero_mass_kg", "aerial_radius_mm", "aerial_mass_kg"),
    }
    assert {key for key in new if key not in old} == {
        *("heavy_hp", "heavy_power_w", "heavy_heat", "heavy_cooling"),
    }
    assert all(row.tag in "PA" for key, row in new.items() if key in changed)


@pytest.mark.parametrize("season", SEASONS)
def test_every_setting_has_a_source_a_range_and_a_meaning(season: Any) -> None:
    for key, row in settings.table(season).items():
        low, high = row.bounds(key)
        values = row.value if isinstance(row.value, list) else [row.value]
        assert all(low <= value <= high for value in values), key
        assert row.tag in settings.TAGS
        assert len(row.about) > 3


@pytest.mark.parametrize("season", SEASONS)
def test_every_setting_reaches_what_it_is_for(season: Any) -> None:
    """A setting is read by the core, or makes a model; none is there for show."""
    book = Book.of(season)
    plain = {m["model"]: m for m in book.models}
    source = (settings.data("models.json")).decode()
    assert source
    for key in book.settings:
        if key in CORE_KEYS:
            continue
        value = book.settings[key]
        other = [v + 1 for v in value] if isinstance(value, list) else value + 1
        changed = {m["model"]: m for m in models.resolve(season, {**book.settings, key: other})}
        unused_in_2027 = season == "2027" and key.startswith(
            ("hero_melee", "hero_ranged", "engineer_", "aerial_heat", "aerial_cooling",
             "speed_42_melee")
        )  # fmt: skip
        unused_in_2026 = season == "2026" and key == "heavy_slow_pct"
        if not (unused_in_2027 or unused_in_2026):
            assert changed != plain, key


def read_core_keys() -> set[str]:
    text = (ROOT / "csrc/arena/core/settings.def").read_text()
    return {
        line.split("(")[1].rstrip(")") for line in text.splitlines() if line.startswith("ARENA")
    }


CORE_KEYS = read_core_keys()


def test_legal_and_illegal_lineups() -> None:
    for season in SEASONS:
        lineup.validate(lineup.default(season), season)
    for line, mode, words in (
        ({1: 2612, 3: 2631}, "standard", "at least 3"),
        ({1: 2631, 3: 2631, 4: 2632}, "standard", "slot 1 takes a hero"),
        ({5: 2631, 3: 2631, 4: 2632}, "standard", "no slot 5"),
        ({1: 2711, 3: 2631, 4: 2632}, "standard", "no model of season 2026"),
        ({}, "deck", "1 to 6"),
        ({1: 2661, 2: 2661}, "deck", "at most one aerial"),
        ({1: 2611, 2: 2612}, "deck", "at most one hero"),
        ({1: 2671, 2: 2672}, "deck", "at most one sentry"),
        ({7: 2671}, "deck", "deck slots"),
    ):
        with pytest.raises(ArenaError, match=words):
            lineup.validate(line, "2026", mode)  # type: ignore[arg-type]
    lineup.validate({1: 2631, 2: 2631, 3: 2631}, "2026", "deck")


def test_the_core_names_what_is_wrong_with_rules() -> None:
    with pytest.raises(core.RulesError, match="not JSON"):
        core.Rules("nonsense")
    with pytest.raises(core.RulesError, match="season"):
        core.Rules('{"season": "2030"}')


def test_the_states_fields_are_documented() -> None:
    rows = core.state_fields()
    assert {group for group, *_ in rows} == {"match", "team", "robot", "projectile"}
    assert len({(group, name) for group, name, *_ in rows}) == len(rows) > 200
    assert all(count >= 1 and text for _, _, count, text in rows)


def test_the_page_of_the_state_is_the_cores_own_list() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / "arena" / "make_state_table.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout == (ROOT / "docs" / "arena-state.md").read_text()
