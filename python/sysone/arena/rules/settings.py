"""Every number of the rules, with where it comes from.

The tags: R the 2026 rulebook, P the preview of the 2027 changes, T measured from public telemetry
or map annotations, A assumed. Season 2027 inherits what it does not change.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Literal

import msgspec

from sysone.arena.errors import ArenaError

Season = Literal["2026", "2027"]
SEASONS: tuple[Season, ...] = ("2026", "2027")
Value = int | list[int]
TAGS = {
    "R": "rulebook of 2026",
    "P": "preview of the 2027 changes",
    "T": "telemetry or public map annotations",
    "A": "assumption of this simulator",
}

# Ranges by kind, wide enough for experiments.
RANGES: dict[str, tuple[int, int]] = {
    "pct": (0, 1000),
    "permille": (0, 1000),
    "damage": (0, 10000),
    "time_s": (0, 3600),
    "time_ms": (0, 3600000),
    "ticks": (1, 72000),
    "hp": (0, 100000),
    "cap": (0, 100000),
    "coins": (0, 100000),
    "count": (0, 100000),
    "heat": (0, 100000),
    "cooling": (0, 10000),
    "energy": (0, 1000000),
    "power": (0, 10000),
    "power_mw": (0, 10000000),
    "speed": (0, 100000),
    "accel": (0, 100000),
    "rate": (0, 100000),
    "length_mm": (0, 30000),
    "angle_deg": (0, 90),
    "angle_mdeg": (0, 90000),
    "flag": (0, 1),
}
# Divisors and the like, which zero would break.
AT_LEAST_ONE = frozenset(
    {
        *("exp_base_divisor", "power_square_den", "power_accel_div", "power_spin_div"),
        *("power_mass_ref_kg", "power_ref_mw", "fortress_cooling_div", "fortress_reserve_div"),
        *("revive_elapsed_div", "ammo_17_lot", "rune_ring_mm", "duration_s"),
        *("outpost_rebuild_per_base_loss", "base_hp", "flyer_speed_mm_s"),
    }
)


class Setting(msgspec.Struct, array_like=True, frozen=True):
    """One number of the rules, or a list of them."""

    value: Value
    tag: Literal["R", "P", "T", "A"]
    kind: str
    """What it measures, with its unit; the range follows from it."""
    about: str

    def bounds(self, key: str) -> tuple[int, int]:
        """The least and most that the setting may be."""
        low, high = RANGES[self.kind]
        return (max(low, 1) if key in AT_LEAST_ONE else low), high


class _File(msgspec.Struct, frozen=True):
    format: Literal["arena-rules-v1"]
    season: str
    source: str
    settings: dict[str, Setting]
    inherits: str | None = None


def data(name: str) -> bytes:
    """A file of the rules' package data."""
    return resources.files("sysone.arena.rules").joinpath(name).read_bytes()


def season_named(text: str) -> Season:
    """``text`` as a season.

    Raises:
        ArenaError: it is none.
    """
    if text not in SEASONS:
        raise ArenaError("usage", f"season must be one of 2026, 2027, not {text!r}")
    return text


@cache
def table(season: Season) -> Mapping[str, Setting]:
    """Every setting of a season with its source, in the order of the rules."""
    file = msgspec.json.decode(data(f"{season}.json"), type=_File)
    inherited = {} if file.inherits is None else dict(table(season_named(file.inherits)))
    return {**inherited, **file.settings}


def defaults(season: Season) -> dict[str, Value]:
    """The flat settings of a season."""
    return {key: setting.value for key, setting in table(season).items()}


def resolve(season: Season, changes: Mapping[str, Any]) -> dict[str, Value]:
    """The defaults with ``changes``.

    Raises:
        ArenaError: an unknown key, or a value of the wrong type or out of its range.
    """
    known = table(season)
    settings = defaults(season)
    for key, value in changes.items():
        if key not in known:
            raise ArenaError("settings", f"settings: {key!r} is no setting of season {season}")
        settings[key] = _checked(key, known[key], value)
    return settings


def _checked(key: str, setting: Setting, value: Any) -> Value:
    low, high = setting.bounds(key)
    wanted = setting.value
    items = value if isinstance(value, list) else [value]
    if isinstance(wanted, list) != isinstance(value, list) or not all(
        isinstance(item, int) and not isinstance(item, bool) for item in items
    ):
        shape = f"a list of {len(wanted)} integers" if isinstance(wanted, list) else "an integer"
        raise ArenaError("settings", f"settings: {key} must be {shape}, not {value!r}")
    if isinstance(wanted, list) and len(items) != len(wanted):
        raise ArenaError(
            "settings", f"settings: {key} must have {len(wanted)} numbers, not {len(items)}"
        )
    for item in items:
        if not low <= item <= high:
            raise ArenaError(
                "settings", f"settings: {key} must be from {low} to {high}, not {item}"
            )
    return value  # type: ignore[no-any-return]  # checked above


def sources(season: Season) -> list[dict[str, Any]]:
    """Every setting with its value, tag, kind and meaning."""
    return [
        {"key": key, "value": s.value, "source": s.tag, "kind": s.kind, "about": s.about}
        for key, s in table(season).items()
    ]


def schema(season: Season) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a season's settings."""
    properties: dict[str, Any] = {}
    for key, setting in table(season).items():
        low, high = setting.bounds(key)
        number: dict[str, Any] = {"type": "integer", "minimum": low, "maximum": high}
        value = setting.value
        shape: dict[str, Any] = number
        if isinstance(value, list):
            size = len(value)
            shape = {"type": "array", "items": number, "minItems": size, "maxItems": size}
        properties[key] = {
            **shape,
            "default": value,
            "description": setting.about,
            "x-source": setting.tag,
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Settings of season {season}",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def canonical(value: Any) -> str:
    """Canonical JSON: sorted keys, no spaces, ASCII; what fingerprints are made of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
