"""Route files: Bench2Drive's and the leaderboard's XML, subsets, weathers."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sysone.runs.errors import RunError, unreadable

WEATHER_FIELDS: Final = (
    "cloudiness",
    "precipitation",
    "precipitation_deposits",
    "wetness",
    "wind_intensity",
    "sun_azimuth_angle",
    "sun_altitude_angle",
    "fog_density",
    "fog_distance",
    "fog_falloff",
    "scattering_intensity",
    "mie_scattering_scale",
    "rayleigh_scattering_scale",
    "dust_storm",
)
DEFAULT_WEATHER: Final = {"sun_altitude_angle": 70.0, "cloudiness": 50.0}


class RouteError(RunError):
    """The route file or the choice of routes is wrong; the text names what and where."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What happens at a place of a route."""

    name: str
    type: str
    trigger: dict[str, float]
    others: list[dict[str, str]]
    parameters: dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Route:
    """One route of a file."""

    id: int
    town: str
    waypoints: list[tuple[float, float, float]]
    """x, y, z in metres."""
    scenarios: list[Scenario] = field(default_factory=list)
    weathers: list[tuple[float, dict[str, float]]] = field(default_factory=list)
    """(route percentage, values), ascending."""
    warnings: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As records name it, without the repetition."""
        return f"RouteScenario_{self.id}"

    @property
    def scenario(self) -> str:
        """Type of the first scenario, or ``none``."""
        return self.scenarios[0].type if self.scenarios else "none"

    def weather_at(self, percent: float) -> dict[str, float]:
        """Weather at a route completion, linear between the file's."""
        if not self.weathers:
            return dict(DEFAULT_WEATHER)
        before = self.weathers[0]
        for after in self.weathers:
            if after[0] >= percent:
                span = after[0] - before[0]
                share = (percent - before[0]) / span if span > 0 else 0.0
                share = min(max(share, 0.0), 1.0)
                return {
                    name: before[1].get(name, value) + share * (value - before[1].get(name, value))
                    for name, value in after[1].items()
                }
            before = after
        return dict(before[1])


def read_routes(path: Path) -> list[Route]:
    """All routes of a file, in its order.

    Raises:
        RouteError: it is not a route file; the text names the route and the field.
        RunError: it cannot be read.
    """
    try:
        root = ET.fromstring(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from error
    except ET.ParseError as error:
        raise RouteError(f"{path} is not XML: {error}") from error
    if root.tag != "routes":
        raise RouteError(f"{path}: the root is <{root.tag}>, expected <routes>")
    routes = [_route(node, path) for node in root.findall("route")]
    if not routes:
        raise RouteError(f"{path} has no route")
    seen: set[int] = set()
    for route in routes:
        if route.id in seen:
            raise RouteError(f"{path}: route id {route.id} comes twice")
        seen.add(route.id)
    return routes


def _route(node: ET.Element, path: Path) -> Route:
    text = node.get("id")
    where = f"{path}, route {text}"
    try:
        route_id = int(text or "")
    except ValueError:
        raise RouteError(f"{path}: route id is {text!r}, expected a whole number") from None
    town = node.get("town")
    if not town:
        raise RouteError(f"{where}: town is missing")
    points = [
        (
            _number(point, "x", where),
            _number(point, "y", where),
            _number(point, "z", where, default=0.0),
        )
        for point in node.iterfind("waypoints/position")
    ]
    if len(points) < 2:
        raise RouteError(f"{where}: {len(points)} waypoints, expected at least 2")
    warnings: list[str] = []
    weathers = [_weather(weather, where, warnings) for weather in node.iterfind("weathers/weather")]
    return Route(
        id=route_id,
        town=town.rsplit("/", 1)[-1],
        waypoints=points,
        scenarios=[_scenario(scenario, where) for scenario in node.iterfind("scenarios/scenario")],
        weathers=sorted(weathers, key=lambda item: item[0]),
        warnings=warnings,
    )


def _weather(node: ET.Element, where: str, warnings: list[str]) -> tuple[float, dict[str, float]]:
    values = {}
    for name in node.attrib:
        if name == "route_percentage":
            continue
        if name in WEATHER_FIELDS:
            values[name] = _number(node, name, where)
        else:
            warnings.append(f"{where}: unknown weather attribute {name}")
    return _number(node, "route_percentage", where, default=0.0), values


def _scenario(node: ET.Element, where: str) -> Scenario:
    trigger = node.find("trigger_point")
    return Scenario(
        name=node.get("name", ""),
        type=node.get("type", "none"),
        trigger={}
        if trigger is None
        else {name: _number(trigger, name, where) for name in trigger.attrib},
        others=[dict(other.attrib) for other in node.findall("other_actor")],
        parameters={
            child.tag: dict(child.attrib)
            for child in node
            if child.tag not in ("trigger_point", "other_actor")
        },
    )


def _number(node: ET.Element, name: str, where: str, default: float | None = None) -> float:
    text = node.get(name)
    if text is None and default is not None:
        return default
    try:
        value = float(text or "")
        if value - value != 0.0:  # NaN or infinity
            raise ValueError
    except ValueError:
        raise RouteError(
            f"{where}: {name} of <{node.tag}> is {text!r}, expected a number"
        ) from None
    return value


def subset(routes: Sequence[Route], text: str | None) -> list[Route]:
    """The routes that a text such as ``"3,7-12"`` names, in file order.

    Raises:
        RouteError: an id is unknown, a range is reversed, or something is named twice.
    """
    if text is None:
        return list(routes)
    known = {route.id for route in routes}
    wanted: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            low = int(first)
            high = int(last) if dash else low
        except ValueError:
            raise RouteError(f"subset has {part.strip()!r}, expected an id or FIRST-LAST") from None
        if high < low:
            raise RouteError(f"subset has {part.strip()!r}, expected FIRST-LAST with FIRST first")
        named = {low} if not dash else {i for i in known if low <= i <= high}
        if not named <= known or (dash and not {low, high} <= known):
            lacking = sorted(({low, high}) - known)
            raise RouteError(f"subset names route {lacking[0]}, which the file lacks")
        twice = named & wanted
        if twice:
            raise RouteError(f"subset names route {min(twice)} twice")
        wanted |= named
    return [route for route in routes if route.id in wanted]


def scripts_of(path: Path) -> dict[int, list[dict[str, Any]]]:
    """Actor scripts beside a route file (``NAME.actors.json``), by route id; empty without one.

    Raises:
        RouteError: the file is not an object of lists by route id.
    """
    import json

    beside = path.with_suffix(".actors.json")
    if not beside.exists():
        return {}
    try:
        found = json.loads(beside.read_text(encoding="utf-8"))
        return {int(key): list(value) for key, value in found.items()}
    except OSError as error:
        raise unreadable(beside, error) from error
    except (ValueError, AttributeError, TypeError) as error:
        raise RouteError(f"{beside}: expected lists of actors by route id: {error}") from error
