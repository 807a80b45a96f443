"""Drives that are shared out to other processes: those whose driver and world are ours.

A socket's model drives one route at a time; the autopilot and the stub are wherever the world is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sysone.drive.backend import Setup
from sysone.drive.drivers import AutopilotDriver, Driver, StubDriver
from sysone.drive.embedded import EmbeddedBackend
from sysone.drive.executor import Outcome, drive_route
from sysone.drive.results import Job
from sysone.drive.routes import Route
from sysone.drive.run_options import RunOptions
from sysone.executors import collect, executor_of, results

BUILT_IN: dict[str, Callable[[], Driver]] = {"autopilot": AutopilotDriver, "stub": StubDriver}


@dataclass(frozen=True, slots=True)
class _Drive:
    options: RunOptions
    job: Job
    attempt: int


def setup_of(options: RunOptions, route: Route, seed: int) -> Setup:
    """The world of a drive."""
    return Setup(
        road_map=options.road_map,
        dt=options.config.dt,
        seed=seed,
        weather=route.weather_at(0.0),
        gps_model=options.config.gps_model,
        lights=options.lights,
        light_script=options.light_script or [],
        traffic=options.traffic,
        actors=(options.scripts or {}).get(route.id, []),
    )


def drive_shared(
    options: RunOptions,
    drives: Sequence[tuple[Job, int]],
    note: Callable[[str], None],
    check: Callable[[], None],
) -> Iterator[tuple[Job, Outcome]]:
    """One attempt of each drive, on the options' engine; outcomes as they are ready.

    An outcome does not depend on where it was driven. ``check`` is called now and then and may
    raise to end everything.

    Raises:
        RunError: a drive could not be made.
        EngineError: the engine cannot be used.
    """
    executor = executor_of(
        options.engine,
        _drive_there,
        min(options.workers, len(drives)),
        address=options.ray_address,
        note=note,
    )

    def item(place: int) -> _Drive:
        job, attempt = drives[place]
        routes = [route for route in options.routes if route.id == job.route_id]
        return _Drive(replace(options, routes=routes), job, attempt)

    for place, outcome in results(collect(executor, len(drives), item, check=check)):
        yield drives[place][0], outcome


def _drive_there(item: _Drive, stopping: Callable[[], bool]) -> Outcome:
    options, job = item.options, item.job
    (route,) = options.routes
    backend = EmbeddedBackend()
    backend.open()
    try:
        return drive_route(
            route,
            setup_of(options, route, job.seed),
            backend,
            BUILT_IN[options.agent](),
            options.config,
            repetition=job.repetition,
            attempt=item.attempt,
            stopping=stopping,
        )
    finally:
        backend.close()
