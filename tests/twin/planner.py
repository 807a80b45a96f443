"""Which keys are safe for the moment a late answer lands, in plain Python.

The pure transitions equal engine and held keys exactly; a search asks, for every landing time an
answer may have, whether some continuation survives to the horizon.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from twin.engine import (
    ACCELERATION,
    DROP_VELOCITY,
    GROUND_Y,
    MAX_SPEED,
    Game,
    jump_step,
)
from twin.obstacle import FRAME_MS, Box, collides, obstacle_step

ACTIONS = ("jump", "duck", "run")
DUCK_LEAD_FRAMES = 14
TREX_WIDTH = 44
MS_PER_FRAME = {"jump": 1000 / 60, "duck": 1000 / 8, "run": 1000 / 12}

Lock = tuple[str, int] | None

# A search is a few calls deep for every frame of its horizon, which slow players stretch to 308.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))


class Trex(NamedTuple):
    y: int = GROUND_Y
    velocity: float = 0.0
    jumping: bool = False
    ducking: bool = False
    dropping: bool = False
    reached: bool = False
    status: str = "run"


GROUND = Trex()
DROP_LANDING = Trex(ducking=True, status="duck")


class ObstacleView(NamedTuple):
    id: int
    label: str
    bird: bool
    x: int
    y: int
    width: int
    height: int
    offset: float
    boxes: tuple[Box, ...]


class Snapshot(NamedTuple):
    trex: Trex
    trex_x: int
    speed: float
    obstacles: tuple[ObstacleView, ...]
    held: str = "run"
    playing: bool = True
    pending: str | None = None


def snapshot(game: Game, held: str = "run", pending: str | None = None) -> Snapshot:
    dino = game.dino
    return Snapshot(
        Trex(
            dino.y,
            dino.velocity,
            dino.jumping,
            dino.ducking,
            dino.speed_drop,
            dino.reached_min_height and dino.jumping,
            {"ducking": "duck", "jumping": "jump"}.get(dino.status, "run"),
        ),
        dino.x,
        game.speed,
        tuple(
            ObstacleView(o.id, o.label, o.bird, o.x, o.y, o.width, o.height, o.offset, o.boxes)
            for o in game.obstacles
            if not o.removed and o.x < 600
        ),
        held,
        game.playing and not game.crashed,
        pending,
    )


# Pure transitions; one frame is enforce, trex_frame, the collision test, end_of_frame.


def after(action: str) -> str:
    """The key state that an action leaves held."""
    return "run" if action == "jump" else action


def enforce(s: Trex, held: str) -> Trex:
    if held == "duck":
        if s.jumping:
            return s if s.dropping else s._replace(dropping=True, velocity=1.0)
        return s if s.ducking else s._replace(ducking=True, status="duck")
    if s.dropping or (s.ducking and not s.jumping):
        return s._replace(
            dropping=False, ducking=False, status="run" if s.status == "duck" else s.status
        )
    return s


def impulse_jump(s: Trex, speed: float) -> Trex:
    if s.jumping:
        return s
    return Trex(s.y, -10 - speed / 10, jumping=True, status="jump")


def trex_frame(s: Trex) -> Trex:
    if not s.jumping:
        return s
    y, velocity, reached, ended = jump_step(s.y, s.velocity, s.dropping, MS_PER_FRAME[s.status])
    reached = s.reached or reached
    if ended and reached and velocity < DROP_VELOCITY:
        velocity = float(DROP_VELOCITY)
    if y > GROUND_Y:
        return DROP_LANDING if s.dropping else GROUND
    return s._replace(y=y, velocity=velocity, reached=reached)


def end_of_frame(s: Trex) -> Trex:
    if not (s.dropping and s.y == GROUND_Y):
        return s
    if s.status == "duck":
        return s._replace(ducking=False, dropping=False, status="run")
    return s._replace(ducking=True, dropping=False, status="duck")


class World:
    """Where every obstacle will be in frames 1 to ``horizon``."""

    def __init__(self, snap: Snapshot, horizon: int) -> None:
        self.trex_x = snap.trex_x
        self.horizon = horizon
        self.birds = any(o.bird for o in snap.obstacles)
        self.speed: dict[int, float] = {}
        self.first: dict[int, tuple[ObstacleView, int] | None] = {}
        self.passed: dict[int, int] = {}
        self.hits: dict[tuple[int, int, bool], bool] = {}
        speed = snap.speed
        places = [(o, o.x) for o in snap.obstacles]
        for k in range(1, horizon + 1):
            self.speed[k] = speed
            places = [(o, x - obstacle_step(speed, o.offset)) for o, x in places]
            for o, x in places:
                if x + o.width <= snap.trex_x + 1:
                    self.passed.setdefault(o.id, k)
            places = [(o, x) for o, x in places if x + o.width > 0]
            self.first[k] = places[0] if places else None
            if speed < MAX_SPEED:
                speed += ACCELERATION

    def hit(self, k: int, y: int, ducking: bool) -> bool:
        key = (k, y, ducking)
        if key not in self.hits:
            first = self.first.get(k)
            self.hits[key] = first is not None and collides(
                self.trex_x,
                y,
                ducking,
                first[1],
                first[0].y,
                first[0].width,
                first[0].height,
                first[0].boxes,
            )
        return self.hits[key]


class Search:
    """One request in flight: the next answer lands ``gap`` frames after this one."""

    def __init__(self, world: World, gap: tuple[int, int], horizon: int) -> None:
        self.world, self.gap, self.horizon = world, gap, horizon
        self.memo: dict[tuple[object, ...], bool] = {}

    def run_frames(self, s: Trex, action: str, start: int, count: int) -> Trex | None:
        for k in range(start + 1, start + count + 1):
            s = trex_frame(enforce(s, action))
            if self.world.hit(k, s.y, s.ducking):
                return None
            s = end_of_frame(s)
        return s

    def press(self, s: Trex, action: str, k: int) -> Trex:
        if action != "jump":
            return s
        return impulse_jump(s, self.world.speed.get(k + 1, self.world.speed[1]))

    def options(self, s: Trex, held: str, k: int, lock: Lock) -> Sequence[str]:
        if s.jumping and held == "duck":
            allowed = ["duck"]
        elif s.jumping and self.gap[0] <= 2:
            allowed = ["run", "duck"]
        elif s.jumping:
            allowed = ["run", "jump", "duck"]
        elif self.world.birds or held == "duck":
            allowed = ["jump", "duck", "run"]
        else:
            allowed = ["jump", "run"]
        if lock is not None and k < lock[1]:
            if lock[0] == "duck":
                allowed = ["duck"]
            else:
                allowed = [name for name in allowed if name != "jump"]
        return sorted(allowed, key=lambda name: name != held)

    def lands(
        self, s: Trex, held: str, action: str, t: int, lo: int, hi: int, lock: Lock = None
    ) -> bool:
        """Whether ``action`` is safe wherever in lo..hi frames after t it lands."""
        state = self.run_frames(s, held, t, lo)
        for g in range(lo, hi + 1):
            if state is None:
                return False
            if t + g >= self.horizon:
                return True
            if not self.landed(state, action, t + g, g, lock):
                return False
            if g < hi:
                state = self.run_frames(state, held, t + g, 1)
        return True

    def landed(self, s: Trex, action: str, k: int, g: int, lock: Lock) -> bool:
        return self.wins(k, self.press(s, action, k), after(action), g > 0, lock)

    def wins(self, t: int, s: Trex, held: str, zero_ok: bool = True, lock: Lock = None) -> bool:
        if t >= self.horizon:
            return True
        key = (t, s, held, zero_ok, lock)
        if key not in self.memo:
            lo, hi = self.gap
            if not zero_ok and lo == 0:
                lo, hi = 1, hi + 1
            self.memo[key] = any(
                self.lands(s, held, option, t, lo, hi, lock)
                for option in self.options(s, held, t, lock)
            )
        return self.memo[key]


class StaggeredSearch(Search):
    """Several requests in flight: a question goes out at least every ``period`` frames."""

    def __init__(self, world: World, gap: tuple[int, int], horizon: int, period: int) -> None:
        super().__init__(world, gap, horizon)
        self.period = period

    def waits(self, s: Trex, held: str, t: int, soonest: int, lock: Lock) -> bool:
        state: Trex | None = s
        for d in range(self.period + 1):
            if state is None:
                return False
            if t + d >= self.horizon:
                return True
            if d >= soonest and not self.wins(t + d, state, held, lock=lock):
                return False
            if d < self.period:
                state = self.run_frames(state, held, t + d, 1)
        return True

    def lands(
        self, s: Trex, held: str, action: str, t: int, lo: int, hi: int, lock: Lock = None
    ) -> bool:
        if action == held:
            return self.waits(s, held, t, 1, lock)
        return super().lands(s, held, action, t, lo, hi, lock)

    def landed(self, s: Trex, action: str, k: int, g: int, lock: Lock) -> bool:
        return self.waits(self.press(s, action, k), after(action), k, 1, lock)

    def wins(self, t: int, s: Trex, held: str, zero_ok: bool = True, lock: Lock = None) -> bool:
        if t >= self.horizon:
            return True
        key = (t, s, held, lock)
        if key not in self.memo:
            self.memo[key] = False  # a position that depends on itself is no win
            self.memo[key] = any(
                self.lands(s, held, option, t, *self.gap, lock)
                for option in self.options(s, held, t, lock)
            )
        return self.memo[key]


@dataclass
class Plan:
    safe: dict[str, bool]
    best: str
    airborne: bool
    notes: dict[str, str]
    threat: str | None = None
    ahead: str | None = None
    distance: int | None = None
    eta_ms: float | None = None
    states: int = 0
    robust: bool = True
    subjects: tuple[int | None, int | None] = (None, None)

    @property
    def safe_actions(self) -> list[str]:
        return [action for action in ACTIONS if self.safe[action]]


@dataclass
class Question:
    """What one plan is about, worked out once."""

    start: Trex
    held: str
    lo: int
    hi: int
    gap: tuple[int, int]
    staggered: bool
    world: World
    search: Search
    arrival: Trex | None
    airborne: bool
    crash: int | None = None
    threat: ObstacleView | None = None
    ahead: ObstacleView | None = None


def whole(values: tuple[float, float]) -> tuple[int, int]:
    return max(0, round(values[0])), max(0, round(values[1]))


class Planner:
    def __init__(self, max_horizon: int = 150) -> None:
        self.max_horizon = max_horizon

    def horizon(self, snap: Snapshot) -> int:
        frames = 12
        for o in snap.obstacles:
            step = max(1, obstacle_step(snap.speed, o.offset))
            frames = max(frames, ceil((o.x + o.width - snap.trex_x) / step) + 6)
        return min(frames, self.max_horizon)

    def plan(
        self,
        snap: Snapshot,
        first: tuple[float, float],
        gap: tuple[float, float],
        period: float | None = None,
    ) -> Plan:
        if not snap.obstacles:
            safe = dict.fromkeys(ACTIONS, True)
            airborne = snap.trex.jumping
            return Plan(safe, "run", airborne, notes(safe, "run", airborne, None, None))
        q = self.question(snap, first, gap, period)
        self.look_ahead(q, snap)
        safe = {
            action: q.search.lands(q.start, q.held, action, 0, q.lo, q.hi) for action in ACTIONS
        }
        best = recommend(q, safe)
        if not safe[best] and any(safe.values()):
            best = next(action for action in ("run", "jump", "duck") if safe[action])
        distance = None
        if q.ahead is not None:
            moved = sum(
                obstacle_step(q.world.speed.get(k, snap.speed), q.ahead.offset)
                for k in range(1, q.lo + 1)
            )
            distance = q.ahead.x - moved - (snap.trex_x + TREX_WIDTH)
        plan = Plan(
            safe,
            best,
            q.airborne,
            notes(safe, best, q.airborne, q.threat, q.ahead),
            q.threat.label if q.threat else None,
            q.ahead.label if q.ahead else None,
            distance,
            None if q.crash is None else (q.crash - q.lo) * FRAME_MS,
            len(q.search.memo),
            True,
            (q.threat.id if q.threat else None, q.ahead.id if q.ahead else None),
        )
        if not any(safe.values()):
            self.best_effort(plan, q)
        return plan

    def question(
        self,
        snap: Snapshot,
        first: tuple[float, float],
        gap: tuple[float, float],
        period: float | None,
    ) -> Question:
        lo, hi = whole(first)
        gap_lo, gap_hi = whole(gap)
        gap_hi = max(1, gap_lo, gap_hi)
        horizon = max(self.horizon(snap), hi + 2 * gap_hi + 2)
        world = World(snap, horizon)
        search = (
            StaggeredSearch(world, (gap_lo, gap_hi), horizon, max(1, round(period)))
            if period
            else Search(world, (gap_lo, gap_hi), horizon)
        )
        start, held = snap.trex, snap.held
        if snap.pending is not None:
            start, held = search.press(start, snap.pending, 0), after(snap.pending)
        arrival = search.run_frames(start, held, 0, lo)
        airborne = (arrival or start).jumping
        gap_frames = (gap_lo, gap_hi)
        return Question(
            start, held, lo, hi, gap_frames, bool(period), world, search, arrival, airborne
        )

    def look_ahead(self, q: Question, snap: Snapshot) -> None:
        """Find what would be hit if nothing more were done, and else what comes next."""
        s = q.arrival
        if s is not None:
            for k in range(q.lo + 1, q.world.horizon + 1):
                s = trex_frame(enforce(s, "duck" if s.dropping else "run"))
                if q.world.hit(k, s.y, s.ducking):
                    first = q.world.first[k]
                    assert first is not None
                    q.crash, q.threat = k, first[0]
                    break
                s = end_of_frame(s)
        q.ahead = q.threat or next((o for o in snap.obstacles if o.x + o.width > snap.trex_x), None)

    def best_effort(self, plan: Plan, q: Question) -> None:
        """Nothing is proven: prefer what survives most landing times at the usual pace."""
        usual = round((q.gap[0] + q.gap[1]) / 2)
        relaxed = (
            StaggeredSearch(q.world, (usual, usual), q.world.horizon, 1)
            if q.staggered
            else Search(q.world, (max(1, usual), max(1, usual)), q.world.horizon)
        )
        cover = {
            action: sum(
                relaxed.lands(q.start, q.held, action, 0, g, g) for g in range(q.lo, q.hi + 1)
            )
            for action in ACTIONS
        }
        plan.robust = False
        largest = max(cover.values())
        if largest > 0:
            plan.safe = {action: cover[action] == largest for action in ACTIONS}
            plan.best = min(ACTIONS, key=lambda a: (-cover[a], a != q.held, a != "run"))
            plan.notes = notes(plan.safe, plan.best, plan.airborne, q.threat, q.ahead)


def recommend(q: Question, safe: dict[str, bool]) -> str:
    if q.airborne:
        quick = q.gap[1] <= 6 and not q.staggered
        if safe["duck"] and (not safe["run"] or (quick and not clearing(q))):
            return "duck"
        return "run"
    if q.threat is None or q.crash is None:
        return "run"
    until = q.world.passed.get(q.threat.id, q.world.horizon)
    near = q.crash - q.lo <= q.hi - q.lo + DUCK_LEAD_FRAMES
    for action in ("duck", "jump"):
        if action == "duck" and not (q.threat.bird and near):
            continue
        if safe[action] and q.search.lands(q.start, q.held, action, 0, q.lo, q.hi, (action, until)):
            return action
    if safe["run"]:
        return "run"
    return "duck" if safe["duck"] and not safe["jump"] else "jump"


def clearing(q: Question) -> bool:
    """Whether the arc that is being flown carries the dinosaur past an obstacle."""
    s, k = q.arrival, q.lo
    if s is None:  # dead on arrival, yet "safe" in a landing window that is empty (hi < lo)
        return False
    while s.jumping and k < q.world.horizon:
        s = trex_frame(enforce(s, "run"))
        k += 1
    return any(q.lo < frame <= k + 2 for frame in q.world.passed.values())


def notes(
    safe: dict[str, bool],
    best: str,
    airborne: bool,
    threat: ObstacleView | None,
    ahead: ObstacleView | None,
) -> dict[str, str]:
    subject = threat or ahead
    label = subject.label if subject else None
    if airborne:
        flying = {
            "jump": ("Keeps flying", f"Lands on the {label}"),
            "duck": ("Drops fast to land sooner", f"Drops onto the {label}"),
            "run": ("Keeps flying", f"Lands on the {label}"),
        }
        return {action: flying[action][0 if safe[action] else 1] for action in ACTIONS}
    if best == "run":
        run, jump = "Waits; acts later", "Jumps too early"
    else:
        run, jump = "Waits; must act soon", f"Clears the {label}"
    if threat is None:
        run, jump = "Keeps running", "Jumps for no reason"
    bird = threat is not None and threat.bird
    duck = f"Passes under the {label}" if bird else "Crouches; no benefit"
    texts = {"jump": jump, "duck": duck, "run": run}
    hits = f"Hits the {label}" if label else "Collides"
    return {action: texts[action] if safe[action] else hits for action in ACTIONS}
