"""Maps and routes that come with the package."""

from pathlib import Path
from typing import Final

from sysone.drive.clientmap import open_map
from sysone.drive.roadmap import RoadMap
from sysone.drive.routes import RouteError

DATA: Final = Path(__file__).parent / "data"
TOWNS: Final = {"MiniGrid": "mini_grid.xodr", "Straight": "straight.xodr"}


def find_routes(name: str) -> Path:
    """A route file: a path, or the name of a shipped one.

    Raises:
        RouteError: there is neither.
    """
    path = Path(name)
    if path.is_file():
        return path
    shipped = DATA / name
    if path.name == name and shipped.suffix == ".xml" and shipped.is_file():
        return shipped
    names = ", ".join(sorted(found.name for found in DATA.glob("*.xml")))
    raise RouteError(f"--routes is {name!r}, which is no file; shipped are {names}")


def map_of(town: str, xodr: Path | None, reader: str = "auto") -> RoadMap:
    """The map of a town: the given file, or the shipped one; for readers see `open_map`.

    Raises:
        RouteError: the town is not shipped and no file is given.
        RunError: the file is no OpenDRIVE.
    """
    if xodr is not None:
        return open_map(xodr, reader)
    if town not in TOWNS:
        raise RouteError(
            f"town {town} is not shipped ({', '.join(TOWNS)} are); give its map with --xodr FILE"
        )
    return open_map(DATA / TOWNS[town], reader)
