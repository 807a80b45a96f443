"""Robot models, resolved from the settings: what each robot is and may do."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from sysone.arena.rules.settings import Season, Value, data


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model as the rules' data has it: names of tables and abilities, no numbers."""

    role: str
    chassis: str
    table: str | None = None
    """Where hit points and power come from; heat and cooling too unless ``gun`` is given."""
    gun: str | None = None
    calibre: int | None = None
    speed: str = "speed_17_mm_s"
    deploys: bool = False
    assembly: str | None = None
    wide: bool = False
    slow: bool = False
    drones: int = 0
    sorties: list[str] = []


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    passes: dict[str, list[str]]
    fly_ramp: dict[str, list[str]]
    tunnel: list[str]
    plates: dict[str, list[int]]
    slots: dict[str, dict[str, str]]
    robots_min: int
    deck_max: dict[str, int]
    default_lineup: dict[str, dict[str, int]]
    models: dict[str, Kind]


@cache
def catalogue() -> _File:
    """The models' data."""
    return msgspec.json.decode(data("models.json"), type=_File)


def numbers(season: Season) -> list[int]:
    """The model numbers of a season."""
    return [int(number) for number in catalogue().models if number.startswith(season[2:])]


def resolve(season: Season, settings: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Every model of a season with its numbers, as the core reads them.

    Lengths are in mm, speeds in mm/s, rates in mrad/s, tables by level.
    """
    return [_resolve(number, settings) for number in numbers(season)]


def _resolve(number: int, settings: Mapping[str, Value]) -> dict[str, Any]:
    file = catalogue()
    kind = file.models[str(number)]
    second = number // 100 == 27

    def one(key: str) -> int:
        value = settings[key]
        assert isinstance(value, int)
        return value

    def many(key: str) -> list[int]:
        value = settings[key]
        return value if isinstance(value, list) else [value]

    flyer = kind.chassis == "flyer"
    body = "hero" if kind.role == "heavy" else kind.role
    radius = "engineer_wide_radius_mm" if kind.wide else f"{body}_radius_mm"
    gun = kind.gun or kind.table
    armed = kind.role in ("hero", "heavy", "infantry", "sentry") or kind.calibre is not None
    calibre = (kind.calibre or 17) if armed else 0
    ground_gun = armed and not flyer
    legged_infantry = kind.role == "infantry" and kind.chassis == "legged"
    small = kind.role in ("infantry", "sentry") and not legged_infantry
    width, height = many("plate_small_mm" if small else "plate_large_mm")
    degrees = file.plates[
        "legged_infantry_deg" if legged_infantry else "small_deg" if small else "large_deg"
    ]
    passes = list(file.passes[kind.chassis])
    if kind.role in file.fly_ramp["roles"] or (
        body == "hero" and kind.chassis in file.fly_ramp["hero_chassis"]
    ):
        passes.append("fly_ramp")
    if str(number) in file.tunnel:
        passes.append("tunnel")
    speed = one(f"{kind.chassis}_speed_mm_s")
    if kind.slow:
        speed = speed * one("heavy_slow_pct") // 100
    assembly = {None: 0, "normal": 100, "quick": one("assembly_fast_pct")}[kind.assembly]
    return {
        "model": number,
        "role": kind.role,
        "chassis": kind.chassis,
        "radius_mm": one(radius),
        "mass_kg": one(f"{body}_mass_kg"),
        "muzzle_mm": one(f"{body}_muzzle_mm") if ground_gun else 0,
        "armour_mm": 0 if flyer else one(f"{body}_armour_mm"),
        "speed_mm_s": speed,
        "accel_mm_s2": one(f"{kind.chassis}_accel_mm_s2"),
        "spin_mrad_s": one(f"{kind.chassis}_spin_mrad_s"),
        "strafe_pct": one(f"{kind.chassis}_strafe_pct"),
        "passes": passes,
        "sees": "around"
        if flyer or kind.role == "sentry" or legged_infantry
        else "wide"
        if kind.role == "engineer"
        else "front",
        "plates": []
        if flyer
        else [{"yaw_deg": yaw, "width_mm": width, "height_mm": height} for yaw in degrees],
        "calibre": calibre,
        "muzzle_speed_mm_s": one(kind.speed) if armed else 0,
        "deploys": kind.deploys,
        "assembly_pct": assembly,
        "drones": kind.drones,
        "strikes": "strike" in kind.sorties,
        "recon": "recon" in kind.sorties,
        "automatic": kind.table == "sentry_auto",
        "gains": kind.role == "infantry" or (not second and kind.role in ("hero", "aerial")),
        "by_tech": kind.role == "heavy",
        "needs_module": kind.role == "heavy",
        "hp": many(f"{kind.table}_hp") if kind.table else [0],
        "power_w": many(f"{kind.table}_power_w") if kind.table else [0],
        "heat": many(f"{gun}_heat") if armed else [0],
        "cooling": many(f"{gun}_cooling") if armed else [0],
    }
