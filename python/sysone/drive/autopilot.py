"""The autopilot: pure pursuit on the plan, IDM behind others, lights and stop signs heeded."""

import math
from typing import Final

from sysone.drive.backend import Backend, Control, EgoState, Frame
from sysone.drive.embedded.actors import idm
from sysone.drive.planning import DensePlan
from sysone.drive.service.stub import StubAgent

LINE_GAP_M: Final = 1.5
"""Where the front stops before a line."""
BRAKE: Final = 8.0
ENGINE: Final = 4.5
STOPPED: Final = 0.08
LOOK_M: Final = 45.0
CLEAR_M: Final = 28.0
"""From before the line until the rear has left a junction."""


class Autopilot:
    """Drives from the backend's own state, without sensors."""

    def __init__(self, plan: DensePlan, backend: Backend) -> None:
        self.pursuit = StubAgent()
        self.pursuit.plan = [(p.x, p.y) for p in plan.points]
        self.backend = backend
        self.line = plan.line
        self.lines = self._stop_lines()
        self.done: set[int] = set()

    def _stop_lines(self) -> list[tuple[float, int, str]]:
        """(metres along the route, id, kind) of what the plan drives over."""
        found = []
        for box in self.backend.boxes():
            cos, sin = math.cos(box.yaw), math.sin(box.yaw)
            for i, point in enumerate(self.line.points):
                dx, dy = point.x - box.x, point.y - box.y
                turn = math.remainder(
                    point.yaw - box.yaw + (math.pi / 2 if box.kind == "light" else 0.0),
                    2 * math.pi,
                )
                if (
                    abs(dx * cos + dy * sin) <= box.half_length
                    and abs(dy * cos - dx * sin) <= box.half_width
                    and abs(turn) < math.radians(60.0)
                ):
                    found.append((self.line.along[i], box.id, box.kind))
                    break
        return sorted(found)

    def control(self, frame: Frame, ego: EgoState) -> Control:
        """Throttle, brake and steer for the next tick."""
        x, y, _ = ego.location
        wanted = self.pursuit.drive(x, y, ego.yaw, ego.forward_speed)
        i = min(self.pursuit.index, self.line.last)
        at = self.line.along[i] + (
            (x - self.line.x[i]) * self.line.cos[i] + (y - self.line.y[i]) * self.line.sin[i]
        )
        desired = self.pursuit._target_speed()
        acceleration = idm(ego.speed, math.inf, 0.0, desired)
        gap, lead = self._leader(ego)
        acceleration = min(acceleration, idm(ego.speed, gap, lead, desired))
        for s, number, kind in self.lines:
            room = s - at - ego.half_length - LINE_GAP_M
            if number in self.done or s < at - 1.0 or room > LOOK_M:
                continue
            if kind == "light":
                if self._must_stop(frame, number, ego.speed, room):
                    acceleration = min(acceleration, _approach(ego.speed, room))
                elif room < 0.5:
                    self.done.add(number)  # over the line: no second thoughts in the junction
            else:
                # the box begins before its middle: stand inside it, behind the line
                inside = s - at - 1.0
                if ego.speed < STOPPED and inside < 1.5:
                    self.done.add(number)
                    continue
                acceleration = min(acceleration, _approach(ego.speed, inside))
        if acceleration >= 0.0:
            throttle = min(1.0, acceleration / ENGINE + 0.01 * ego.speed)
            return Control(throttle, 0.0, wanted["steer"])
        return Control(0.0, min(1.0, -acceleration / BRAKE), wanted["steer"])

    def _must_stop(self, frame: Frame, light: int, speed: float, room: float) -> bool:
        """Whether to stand before a light: it is red, or would be before the junction is left."""
        if room < -3.0:
            return False
        state = frame.lights.get(light)
        if state == "Red":
            return True
        # stopping would take more than 4 m/s²
        if speed > 2.0 and room <= speed * speed / 8.0 - 0.5:
            return False
        if state == "Yellow":
            return True
        pace = max(speed, 3.0)
        begin, end = max(room, 0.0) / pace, (max(room, 0.0) + CLEAR_M) / min(pace, 4.0)
        t = begin
        while t <= end:
            if self.backend.forecast(t).get(light) == "Red":
                return True
            t += 0.5
        return False

    def _leader(self, ego: EgoState) -> tuple[float, float]:
        x, y, _ = ego.location
        cos, sin = math.cos(ego.yaw), math.sin(ego.yaw)
        gap, lead = math.inf, 0.0
        for actor in self.backend.actors():
            dx, dy = actor.x - x, actor.y - y
            along, across = dx * cos + dy * sin, dy * cos - dx * sin
            room = along - ego.half_length - actor.half_length
            beside = abs(across) >= ego.half_width + actor.half_width + 0.4
            if 0.0 < along < LOOK_M and not beside and room < gap:
                gap, lead = room, actor.speed * math.cos(actor.yaw - ego.yaw)
        return gap, lead


def _approach(speed: float, room: float) -> float:
    """Acceleration that comes to rest after ``room`` metres."""
    if room <= 0.3:
        return -BRAKE
    needed = speed * speed / (2 * room)
    if needed < 1.5:
        # not yet; but creep on rather than stand far before the line
        return math.inf if speed < math.sqrt(2 * 1.5 * room) else -1.5
    return -needed
