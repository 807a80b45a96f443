"""Grid maps in OpenDRIVE, as large as wanted: roads between junctions, lights or stop signs."""

import math
from dataclasses import dataclass
from typing import Final

ARM_M: Final = 12.0
"""From the middle of a junction to its edge."""
WIDTH_M: Final = 3.5
SIGN_M: Final = 0.5
"""From a junction's edge to its signs."""
SIDES: Final = {"east": 0.0, "north": 90.0, "west": 180.0, "south": 270.0}
"""Direction of each arm in OpenDRIVE, degrees."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One road at a junction: which, and whether it begins or ends there."""

    road: int
    begins: bool
    side: str


def grid_map(
    rows: int = 3,
    columns: int = 3,
    spacing_m: float = 160.0,
    lanes: int = 1,
    control: str = "lights",
) -> str:
    """A grid of junctions as OpenDRIVE text; the middle one is at the origin.

    ``lanes`` in each direction; ``control`` of junctions with more than two arms is ``lights``,
    ``stops`` or ``none``.

    Raises:
        ValueError: a size or the control is out of bounds; the text names it.
    """
    for name, value, low, high in (
        ("rows", rows, 1, 30),
        ("columns", columns, 1, 30),
        ("lanes", lanes, 1, 3),
    ):
        if not low <= value <= high:
            raise ValueError(f"{name} is {value}, expected {low} to {high}")
    if rows * columns < 2:
        raise ValueError("rows and columns are 1, expected at least two junctions")
    if not 40.0 <= spacing_m <= 2000.0:
        raise ValueError(f"spacing is {spacing_m:g}, expected 40 to 2000 m")
    if control not in ("lights", "stops", "none"):
        raise ValueError(f"control is {control!r}, expected lights, stops or none")
    return _Grid(rows, columns, spacing_m, lanes, control).text()


class _Grid:
    def __init__(self, rows: int, columns: int, spacing: float, lanes: int, control: str) -> None:
        self.rows, self.columns, self.spacing = rows, columns, spacing
        self.lanes, self.control = lanes, control
        self.arms: dict[tuple[int, int], list[Arm]] = {
            (row, column): [] for row in range(rows) for column in range(columns)
        }
        self.roads: list[tuple[int, tuple[int, int], tuple[int, int], bool]] = []
        for row in range(rows):
            for column in range(columns):
                if column + 1 < columns:
                    self._join((row, column), (row, column + 1), along_x=True)
                if row + 1 < rows:
                    self._join((row, column), (row + 1, column), along_x=False)

    def _join(self, a: tuple[int, int], b: tuple[int, int], *, along_x: bool) -> None:
        number = len(self.roads) + 1
        self.roads.append((number, a, b, along_x))
        self.arms[a].append(Arm(number, True, "east" if along_x else "north"))
        self.arms[b].append(Arm(number, False, "west" if along_x else "south"))

    def _place(self, node: tuple[int, int]) -> tuple[float, float]:
        return (
            (node[1] - (self.columns - 1) / 2) * self.spacing,
            (node[0] - (self.rows - 1) / 2) * self.spacing,
        )

    def _junction(self, node: tuple[int, int]) -> int:
        return 100_000 + node[0] * self.columns + node[1]

    def text(self) -> str:
        parts = [
            '<?xml version="1.0" encoding="UTF-8"?>\n<OpenDRIVE>',
            '<header revMajor="1" revMinor="4" name="Grid" version="1" date="2026-01-01T00:00:00">'
            "<geoReference><![CDATA[+proj=tmerc +lat_0=0.0 +lon_0=0.0 +k=1 +x_0=0 +y_0=0 "
            "+datum=WGS84 +units=m +no_defs]]></geoReference></header>",
        ]
        parts += [self._road(*road) for road in self.roads]
        connections: dict[tuple[int, int], list[str]] = {}
        number = 1000 + len(self.roads)
        for node, arms in self.arms.items():
            connections[node] = []
            for source in arms:
                for target in arms:
                    if source is target:
                        continue
                    number += 1
                    parts.append(self._turn(number, node, source, target))
                    links = "".join(
                        f'<laneLink from="{k if source.begins else -k}" to="{-k}"/>'
                        for k in range(1, self.lanes + 1)
                    )
                    connections[node].append(
                        f'<connection id="{len(connections[node])}" incomingRoad="{source.road}" '
                        f'connectingRoad="{number}" contactPoint="start">{links}</connection>'
                    )
        for node, inside in connections.items():
            body = "".join(inside)
            parts.append(f'<junction id="{self._junction(node)}" name="J">{body}</junction>')
        return "\n".join([*parts, "</OpenDRIVE>"]) + "\n"

    def _road(self, number: int, a: tuple[int, int], b: tuple[int, int], along_x: bool) -> str:
        x, y = self._place(a)
        length = self.spacing - 2 * ARM_M
        heading = 0.0 if along_x else math.pi / 2
        x, y = x + ARM_M * math.cos(heading), y + ARM_M * math.sin(heading)
        signals = ""
        if self.control != "none":
            if len(self.arms[b]) > 2:
                signals += self._signal(2 * number, length - SIGN_M, right=True)
            if len(self.arms[a]) > 2:
                signals += self._signal(2 * number + 1, SIGN_M, right=False)
        return (
            f'<road name="R{number}" length="{length!r}" id="{number}" junction="-1"><link>'
            f'<predecessor elementType="junction" elementId="{self._junction(a)}"/>'
            f'<successor elementType="junction" elementId="{self._junction(b)}"/></link>'
            '<type s="0" type="town"><speed max="50" unit="km/h"/></type>'
            f'<planView><geometry s="0" x="{x!r}" y="{y!r}" hdg="{heading!r}" '
            f'length="{length!r}"><line/></geometry></planView>'
            f'<lanes><laneSection s="0"><left>{self._lanes(1)}</left>'
            '<center><lane id="0" type="none"/></center>'
            f"<right>{self._lanes(-1)}</right></laneSection></lanes>"
            f"<signals>{signals}</signals></road>"
        )

    def _lanes(self, sign: int, link: bool = False, target: int = 1, source: int = 1) -> str:
        found = ""
        for k in range(1, self.lanes + 1):
            joined = (
                f'<link><predecessor id="{source * k}"/><successor id="{target * k}"/></link>'
                if link
                else ""
            )
            change = "both" if k < self.lanes else "none"
            found += (
                f'<lane id="{sign * k}" type="driving">{joined}'
                f'<width sOffset="0" a="{WIDTH_M}" b="0" c="0" d="0"/>'
                f'<roadMark sOffset="0" type="solid" laneChange="{change}"/></lane>'
            )
        if not link:
            found += (
                f'<lane id="{sign * (self.lanes + 1)}" type="sidewalk">'
                '<width sOffset="0" a="2" b="0" c="0" d="0"/></lane>'
            )
        return found

    def _signal(self, number: int, s: float, *, right: bool) -> str:
        kind, dynamic = ("1000001", "yes") if self.control == "lights" else ("206", "no")
        sign = -1 if right else 1
        side = sign * (self.lanes * WIDTH_M + 1.5)
        return (
            f'<signal name="S" id="{10_000 + number}" s="{s!r}" t="{side!r}" zOffset="0" '
            f'orientation="{"+" if right else "-"}" dynamic="{dynamic}" type="{kind}" '
            f'subtype="-1" value="-1"><validity fromLane="{sign}" '
            f'toLane="{sign * self.lanes}"/></signal>'
        )

    def _turn(self, number: int, node: tuple[int, int], source: Arm, target: Arm) -> str:
        """A connecting road from one arm to another: a line, or a quarter circle."""
        x, y = self._place(node)
        inwards = math.radians(SIDES[source.side] + 180.0)
        outwards = math.radians(SIDES[target.side])
        start_x = x - ARM_M * math.cos(inwards)
        start_y = y - ARM_M * math.sin(inwards)
        turn = math.remainder(outwards - inwards, 2 * math.pi)
        if abs(turn) < 1e-6:
            length, shape = 2 * ARM_M, "<line/>"
        else:
            length = ARM_M * math.pi / 2
            shape = f'<arc curvature="{math.copysign(1 / ARM_M, turn)!r}"/>'
        # traffic leaves on the lanes that run away from the junction
        leave = -1 if target.begins else 1
        enter = 1 if source.begins else -1
        contact = "start" if target.begins else "end"
        return (
            f'<road name="C{number}" length="{length!r}" id="{number}" '
            f'junction="{self._junction(node)}"><link>'
            f'<predecessor elementType="road" elementId="{source.road}" '
            f'contactPoint="{"start" if source.begins else "end"}"/>'
            f'<successor elementType="road" elementId="{target.road}" contactPoint="{contact}"/>'
            '</link><type s="0" type="town"><speed max="30" unit="km/h"/></type>'
            f'<planView><geometry s="0" x="{start_x!r}" y="{start_y!r}" hdg="{inwards!r}" '
            f'length="{length!r}">{shape}</geometry></planView>'
            '<lanes><laneSection s="0"><center><lane id="0" type="none"/></center>'
            f"<right>{self._lanes(-1, True, leave, enter)}</right></laneSection></lanes>"
            "<signals/></road>"
        )
