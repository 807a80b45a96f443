"""One attempt at one route: tick, record, judge, ask, apply, until the drive ends."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sysone.drive.agents import AgentGone, AgentRefused
from sysone.drive.backend import (
    Backend,
    Control,
    SensorSpec,
    Setup,
    SimulationCrashed,
    Vector,
)
from sysone.drive.criteria import TICK_CAP, Criteria
from sysone.drive.drivers import AgentCrashed, Decision, Driver
from sysone.drive.drivescore import score_drive, scored_profiles
from sysone.drive.gps import EARTH_R, GpsModelMismatch, check_model
from sysone.drive.inject import Fault, Injector
from sysone.drive.planning import DensePlan, densify
from sysone.drive.profiles import PROFILES
from sysone.drive.protocol import RouteStart
from sysone.drive.routeline import Moment, RoutePoint
from sysone.drive.routes import Route
from sysone.drive.score import Event, RouteScore, score_route, with_failure
from sysone.drive.tickrecord import background_speed, record_tick
from sysone.drive.ticks import TickStore

SPAWN_LIFT_M: Final = 0.5
MAX_GAME_TIME_S: Final = 200.0
CHECKED_POINTS: Final = 4
WEATHER_STEP_PERCENT: Final = 1.0
"""Of completion, after which a weather that changes along the route is set again."""


@dataclass(frozen=True, slots=True)
class DriveConfig:
    """What stays the same over a run's drives."""

    dt: float = 0.05
    profile: str = "bench2drive"
    completion: str = "projected"
    max_game_time_s: float = MAX_GAME_TIME_S
    tick_cap: int = TICK_CAP
    proto: str = "0.2"
    sensors: SensorSpec = field(default_factory=SensorSpec)
    gps_model: str = "carla_mercator"
    faults: tuple[Fault, ...] = ()


@dataclass(slots=True)
class Outcome:
    """What came of an attempt."""

    route: Route
    plan: DensePlan
    store: TickStore
    scores: dict[str, RouteScore]
    """By profile."""
    events: list[Event]
    end: str
    failure: str | None
    """Reason outside the rules, as in statuses."""
    note: str = ""
    wall_s: float = 0.0
    agent: str = ""
    late_answers: int = 0
    warnings: list[str] = field(default_factory=list)


Watcher = Callable[[int, float, str], None]
"""Told of each tick: number, completion, phase."""


def drive_route(
    route: Route,
    setup: Setup,
    backend: Backend,
    driver: Driver,
    config: DriveConfig,
    *,
    repetition: int = 0,
    attempt: int = 0,
    watch: Watcher = lambda tick, percent, phase: None,
    stopping: Callable[[], bool] = lambda: False,
    keep: Callable[[int, Any], None] | None = None,
) -> Outcome:
    """Drive one route once; ``keep`` is given each tick's picture.

    Raises:
        RouteError: the route does not fit the map.
        GpsModelMismatch: the plan's conversion is not the GNSS sensor's.
        AgentRefused: code ``version``: the model speaks another protocol.
        KeyboardInterrupt: ``stopping`` said so.
    """
    began = time.monotonic()
    store = TickStore()
    profile = PROFILES[config.profile]
    failure: str | None = None
    note = ""
    plan: DensePlan | None = None
    criteria: Criteria | None = None
    reason_of = {
        AgentGone: "Agent crashed",
        AgentCrashed: "Agent crashed",
        SimulationCrashed: "Simulation crashed",
    }
    try:
        watch(0, 0.0, "loading")
        plan = densify(route.waypoints, setup.road_map)
        backend.load(setup, plan.points)
        first = plan.points[0]
        watch(0, 0.0, "spawning")
        backend.spawn_ego(first.x, first.y, first.z + SPAWN_LIFT_M, first.yaw)
        backend.attach(config.sensors)
        watch(0, 0.0, "warmup")
        reading = backend.warmup()
        criteria = Criteria(
            plan.line,
            setup.road_map,
            backend.boxes(),
            profile,
            half_length=backend.ego().half_length,
            completion=config.completion,
            tick_cap=config.tick_cap,
            max_game_time_s=config.max_game_time_s if config.profile == "per_tick" else None,
        )
        injector = Injector(list(config.faults), attempt)
        start = _start(route, plan, setup, backend, config, repetition, attempt)
        _check_gps(plan, start, setup, reading, config.sensors.gnss_noise_deg)
        try:
            driver.begin(start, plan, backend, setup)
        except AgentRefused as error:
            if error.code == "version":
                raise
            failure = (
                "Agent's sensors were invalid"
                if error.code == "sensors"
                else "Agent couldn't be set up"
            )
            note = str(error)
        if failure is None:
            _loop(route, criteria, store, backend, driver, injector, watch, stopping, keep)
    except (AgentGone, AgentCrashed, SimulationCrashed) as error:
        failure = next(text for kind, text in reason_of.items() if isinstance(error, kind))
        note = str(error)
    if plan is None or criteria is None:
        return _never_begun(
            route, plan, config, driver.name, failure or "Simulation crashed", note, began
        )
    if criteria.end == "tick_cap":
        failure = "TickRuntime"
    scores = {
        name: score_drive(
            name,
            route.id,
            store,
            criteria.route.length,
            plan.road_ids,
            criteria.timed_out,
            criteria.events,
            criteria.end,
            failure,
        )
        for name in scored_profiles(config.profile)
    }
    driver.finish(scores[config.profile])
    return Outcome(
        route=route,
        plan=plan,
        store=store,
        scores=scores,
        events=criteria.events,
        end=criteria.end or (failure or "ended"),
        failure=failure,
        note=note,
        wall_s=time.monotonic() - began,
        agent=driver.name,
        late_answers=getattr(getattr(driver, "server", None), "late", 0),
        warnings=[*route.warnings, *plan.warnings],
    )


def _never_begun(
    route: Route,
    plan: DensePlan | None,
    config: DriveConfig,
    agent: str,
    failure: str,
    note: str,
    began: float,
) -> Outcome:
    """An attempt whose simulator failed before the first tick: no ticks, no completion."""
    if plan is None:
        points = [RoutePoint(x, y, z, 0.0) for x, y, z in route.waypoints]
        plan = DensePlan(points, [], frozenset())
    scores = {
        name: with_failure(
            score_route(route.id, TickStore(), plan.line.length, None, False, [], name), failure
        )
        for name in scored_profiles(config.profile)
    }
    return Outcome(
        route=route,
        plan=plan,
        store=TickStore(),
        scores=scores,
        events=[],
        end=failure,
        failure=failure,
        note=note,
        wall_s=time.monotonic() - began,
        agent=agent,
        warnings=[*route.warnings, *plan.warnings],
    )


def _start(
    route: Route,
    plan: DensePlan,
    setup: Setup,
    backend: Backend,
    config: DriveConfig,
    repetition: int,
    attempt: int,
) -> RouteStart:
    gps = [list(backend.geolocate(p.x, p.y, p.z)) for p in plan.points]
    lat, lon = setup.road_map.reference
    return RouteStart(
        proto=config.proto,
        route_id=route.id,
        town=route.town,
        keypoints=[[p.x, p.y, p.z] for p in plan.points],
        commands=plan.options,
        gps_plan=gps,
        gps_model=config.gps_model,
        gps_ref=[lat, lon],
        dt=config.dt,
        seed=setup.seed,
        sensors=config.sensors.wire(),
        max_game_time=config.max_game_time_s,
        repetition=repetition,
        attempt=attempt,
    )


def _check_gps(
    plan: DensePlan, start: RouteStart, setup: Setup, reading: Vector, noise_deg: float
) -> None:
    """The plan at its start and at four more points, and the GNSS sensor's reading at the start."""
    count = len(plan.points)
    indices = [round(i * (count - 1) / CHECKED_POINTS) for i in range(CHECKED_POINTS + 1)]
    places = [(plan.points[i].x, plan.points[i].y) for i in indices]
    gps = [(start.gps_plan[i][0], start.gps_plan[i][1]) for i in indices]
    check_model(
        places,
        gps,
        (reading[0], reading[1]),
        setup.road_map.reference,
        start.gps_model,
        noise_m=math.radians(noise_deg) * EARTH_R,
    )


def _loop(
    route: Route,
    criteria: Criteria,
    store: TickStore,
    backend: Backend,
    driver: Driver,
    injector: Injector,
    watch: Watcher,
    stopping: Callable[[], bool],
    keep: Callable[[int, Any], None] | None,
) -> None:
    applied = Decision(Control(), driver.name)
    # The wall clock of the first tick; a clock that is set meanwhile moves no later one.
    epoch_s = time.time() - time.monotonic()
    changing, shown = len(route.weathers) > 1, 0.0
    tick = 0
    while True:
        tick += 1
        if stopping():
            raise KeyboardInterrupt
        if injector.faults:
            injector.begin_tick(tick, criteria.odometer.metres, backend)
        frame = backend.tick()
        ego = backend.ego()
        x, y, z = ego.location
        lane = backend.lane(x, y)
        moving = background_speed(backend)
        moment = Moment(
            tick,
            frame.sim_time,
            x,
            y,
            z,
            ego.yaw,
            ego.speed,
            ego.forward_speed,
            lane,
            frame.lights,
            moving,
        )
        new = criteria.update(moment)
        seen = [
            Event(kind, tick, frame.sim_time, message)
            for kind, message in backend.scenario_events(criteria.end is not None)
        ]
        criteria.add(seen)
        new += seen
        now_s = epoch_s + time.monotonic()
        store.append(
            record_tick(tick, now_s, frame, ego, lane, backend, criteria, applied, new, moving)
        )
        if keep is not None and "rgb" in frame.sensors:
            keep(tick, frame.sensors["rgb"][1])
        watch(tick, criteria.completion.percent, "driving")
        if criteria.end is not None:
            return
        percent = criteria.completion.percent
        if changing and percent >= shown + WEATHER_STEP_PERCENT:
            shown = percent
            backend.weather(route.weather_at(percent))
        drop = injector.before_step(tick) if injector.faults else False
        applied = driver.decide(tick, frame, ego, drop)
        if injector.faults:
            applied = replace(applied, control=injector.control(applied.control, tick))
        backend.apply(applied.control)


__all__ = ["DriveConfig", "GpsModelMismatch", "Outcome", "drive_route"]
