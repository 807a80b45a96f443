"""``sysone drive``: drive routes with a model, score them as Bench2Drive does."""

import json
import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from sysone.drive import servercommands, subcommands
from sysone.drive.cli_options import ProfileChoice, address, fail
from sysone.drive.exits import BAD_CONFIG, BLOCKED, GPS, NO_AGENT, PORTS, VERSION
from sysone.executors.options import EngineChoice, EngineOption, RayAddressOption, check
from sysone.runs.errors import RunError
from sysone.runs.options import accept_other_names
from sysone.runs.progress import Progress

if TYPE_CHECKING:
    from sysone.drive.backend import Backend


if TYPE_CHECKING:
    from sysone.drive.run_options import RunOptions


class Agent(StrEnum):
    """Who drives."""

    socket = "socket"
    autopilot = "autopilot"
    stub = "stub"


class CameraChoice(StrEnum):
    """What the camera sends."""

    ground = "ground"
    blank = "blank"
    pattern = "pattern"
    none = "none"


app = typer.Typer(
    help="Drive routes with a model, score them as Bench2Drive does.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class SeedsAsWords(TyperCommand):
    """Lets ``--seeds 0 1 2`` be written in words, as other harnesses have it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the whole numbers that follow ``--seeds`` into one value."""
        joined: list[str] = []
        for arg in args:
            # a comma stands before a further seed only: "--seeds" itself takes the first
            before = joined[-1] if joined else ""
            seeds = len(joined) > 1 and joined[-2] == "--seeds" and before != "--seeds"
            if (seeds or before.startswith("--seeds=")) and arg.isdigit():
                joined[-1] = f"{before},{arg}"
            else:
                joined.append(arg)
        return super().parse_args(ctx, joined)


@app.command(cls=SeedsAsWords)
def run(
    context: typer.Context,
    routes: Annotated[str, typer.Option(help="Route file, or a shipped one.")] = "routes_mini.xml",
    subset: Annotated[str | None, typer.Option(help="Such as 3,7-12.")] = None,
    order: Annotated[str | None, typer.Option(help="'id' sorts the routes.")] = None,
    repetitions: Annotated[int, typer.Option(min=1)] = 1,
    town: Annotated[str | None, typer.Option(help="Only the routes of this town.")] = None,
    backend: Annotated[str, typer.Option(help="embedded, carla or stand-in.")] = "embedded",
    side: Annotated[str, typer.Option(help="ue5 (0.10) or ue4 (0.9): default ports.")] = "ue5",
    carla_host: Annotated[str | None, typer.Option(help="[found by itself]")] = None,
    carla_port: Annotated[int | None, typer.Option(help="[2021, ue4: 2031]")] = None,
    tm_port: Annotated[int, typer.Option(help="Traffic manager's port.")] = 8000,
    server_wait: Annotated[float, typer.Option(min=0.0, help="Seconds.")] = 240.0,
    server_timeout: Annotated[float, typer.Option(min=1.0, help="Seconds a call.")] = 30.0,
    restore_async: Annotated[str, typer.Option(help="auto, always or never.")] = "auto",
    stand_in_script: Annotated[Path | None, typer.Option(help="Faults of the stand-in.")] = None,
    xodr: Annotated[Path | None, typer.Option(help="OpenDRIVE map of the town.")] = None,
    agent: Annotated[Agent, typer.Option(help="Who drives.")] = Agent.socket,
    agent_bind: Annotated[str, typer.Option(help="Port 0: choose one.")] = "127.0.0.1:5555",
    allow_remote: Annotated[bool, typer.Option("--allow-remote")] = False,
    agent_wait: Annotated[float, typer.Option(help="Seconds to wait for a model.")] = 60.0,
    reconnect: Annotated[float, typer.Option(help="Seconds to wait for it again.")] = 120.0,
    fallback: Annotated[str | None, typer.Option(help="'autopilot' if no model comes.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("results/drive"),
    seeds: Annotated[str, typer.Option(help="Such as 0 1 2, or 0,1,2.")] = "0",
    profile: Annotated[ProfileChoice, typer.Option()] = ProfileChoice.bench2drive,
    completion: Annotated[str, typer.Option(help="projected or odometer.")] = "projected",
    lights: Annotated[str, typer.Option(help="cycle, green, red or a script.")] = "cycle",
    traffic: Annotated[int, typer.Option(min=0, help="Background vehicles.")] = 0,
    camera: Annotated[CameraChoice | None, typer.Option()] = None,
    lidar: Annotated[bool, typer.Option("--lidar")] = False,
    proto: Annotated[str | None, typer.Option(help="Protocol to offer.")] = None,
    map_reader: Annotated[str, typer.Option(help="auto, carla or own.")] = "auto",
    gps_model: Annotated[str | None, typer.Option(help="[the map's own]")] = None,
    i_know: Annotated[bool, typer.Option("--i-know", help="Allow flat_legacy.")] = False,
    gnss_noise: Annotated[float, typer.Option(min=0.0, help="Degrees.")] = 0.0,
    imu_noise: Annotated[float, typer.Option(min=0.0, help="Leaderboard: 0.001.")] = 0.0,
    dt: Annotated[float, typer.Option(help="Seconds a tick.")] = 0.05,
    max_game_time: Annotated[float, typer.Option(help="Seconds (per_tick).")] = 200.0,
    step_timeout: Annotated[float, typer.Option(help="Seconds.")] = 2.0,
    ready_timeout: Annotated[float, typer.Option(help="Seconds.")] = 300.0,
    max_timeouts: Annotated[int, typer.Option(min=1)] = 3,
    on_timeout: Annotated[str, typer.Option(help="hold or brake.")] = "hold",
    attempt_pause: Annotated[float, typer.Option(min=0.0, help="Seconds.")] = 10.0,
    inject: Annotated[list[str] | None, typer.Option(help="NAME@tick=N or NAME@m=M.")] = None,
    tick_json: Annotated[bool, typer.Option("--tick-json")] = False,
    save_frames: Annotated[bool, typer.Option("--save-frames", help="For replays.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Refuse a folder in use.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Drives at a time (autopilot, stub).")] = 1,
    engine: EngineOption = EngineChoice.local,
    ray_address: RayAddressOption = None,
) -> None:
    """Drive routes; go on where an earlier run of the same command ended."""
    check(engine, ray_address)
    from sysone.drive.agents import AgentRefused, AgentSocketServer
    from sysone.drive.backend import SensorSpec
    from sysone.drive.embedded.world import read_light_script
    from sysone.drive.executor import DriveConfig
    from sysone.drive.gps import DEFAULT_MODEL, GpsModelMismatch
    from sysone.drive.gps import gps_model as model_named
    from sysone.drive.inject import parse_fault
    from sysone.drive.report import table
    from sysone.drive.results import all_results
    from sysone.drive.routes import RouteError, read_routes, scripts_of
    from sysone.drive.routes import subset as chosen
    from sysone.drive.run import Run, RunOptions, stop_on_signals
    from sysone.drive.serverside import (
        BACKENDS,
        LIDAR_CHANNELS,
        Blocked,
        await_server,
        check_faults,
        make_backend,
        server_map,
    )
    from sysone.drive.service.wire import WireError, version_pair
    from sysone.drive.shipped import find_routes, map_of

    try:
        for name, value, choices in (
            ("--backend", backend, BACKENDS),
            ("--completion", completion, ("projected", "odometer")),
            ("--on-timeout", on_timeout, ("hold", "brake")),
            ("--fallback", fallback, (None, "autopilot")),
            ("--order", order, (None, "id")),
        ):
            if value not in choices:
                wanted = " or ".join(str(c) for c in choices if c)
                raise RouteError(f"{name} is {value!r}, expected {wanted}")
        if not 0.001 <= dt <= 0.2:
            raise RouteError(f"--dt is {dt:g}, expected 0.001 to 0.2 s")
        file = find_routes(routes)
        wanted_routes = chosen(read_routes(file), subset)
        if town is not None:
            known = sorted({route.town for route in wanted_routes})
            wanted_routes = [route for route in wanted_routes if route.town == town]
            if not wanted_routes:
                raise RouteError(f"--town is {town!r}, the routes lie in {', '.join(known)}")
        if order == "id":
            wanted_routes.sort(key=lambda route: route.id)
        towns = {route.town for route in wanted_routes}
        if len(towns) > 1:
            raise RouteError(
                f"the routes lie in {', '.join(sorted(towns))}, expected one town: --town NAME, "
                "a run for each, and sysone drive merge"
            )
        faults = tuple(parse_fault(text) for text in inject or ())
        if gps_model is not None:
            model_named(gps_model)
        if gps_model == "flat_legacy" and not i_know:
            raise RouteError("flat_legacy mirrors the route for agents; it needs --i-know")
        offered = proto or ("0.3" if lidar else "0.2")
        version_pair(offered)
        script = None
        if lights not in ("cycle", "green", "red"):
            script = read_light_script(Path(lights))
        chosen_camera = camera or (
            CameraChoice.ground if agent is Agent.socket else CameraChoice.none
        )
        server_backend, simulator = None, "embedded"
        if backend == "embedded":
            road_map = map_of(next(iter(towns)), xodr, map_reader)
        else:
            check_faults(faults)
            server_backend, where = make_backend(
                backend,
                side,
                carla_host,
                carla_port,
                tm_port,
                restore_async,
                stand_in_script,
                server_timeout,
            )
            context.call_on_close(server_backend.close)
            note = partial(typer.echo, err=True)
            note(f"server: {where.address}:{server_backend.address.port} ({where.rule})")
            info = await_server(server_backend, server_wait, note)
            simulator = f"{info.name} {info.version}"
            road_map = server_map(server_backend, next(iter(towns)), xodr)
        options = RunOptions(
            out=out,
            routes_file=file,
            routes=wanted_routes,
            road_map=road_map,
            config=DriveConfig(
                dt=dt,
                profile=profile.value,
                completion=completion,
                max_game_time_s=max_game_time,
                proto=offered,
                sensors=SensorSpec(
                    camera=chosen_camera.value,
                    lidar=lidar,
                    lidar_channels=16 if backend == "embedded" else LIDAR_CHANNELS,
                    gnss_noise_deg=gnss_noise,
                    imu_noise=imu_noise,
                ),
                gps_model=gps_model or road_map.gps_model,
                faults=faults,
            ),
            agent=agent.value,
            seeds=_seeds(seeds),
            repetitions=repetitions,
            lights=lights,
            light_script=script,
            traffic=traffic,
            scripts=scripts_of(file) if backend == "embedded" else None,
            fresh=fresh,
            retry_failed=retry_failed,
            tick_json=tick_json,
            save_frames=save_frames,
            agent_wait_s=agent_wait,
            reconnect_s=reconnect,
            fallback=fallback,
            on_timeout=on_timeout,
            max_timeouts=max_timeouts,
            attempt_pause_s=attempt_pause,
            server_wait_s=server_wait,
            backend=simulator,
            workers=jobs,
            engine=engine.value,
            ray_address=ray_address,
            command=sys.argv,
        )
        if options.shared:
            _check_shared(options)
    except Blocked as error:
        fail(f"{error}: start one, see sysone drive doctor", BLOCKED)
    except (RunError, WireError, ValueError, OSError) as error:
        fail(error, BAD_CONFIG)
    server = None
    if agent is Agent.socket:
        host, port = address(agent_bind)
        try:
            server = AgentSocketServer(
                host,
                port,
                allow_remote=allow_remote,
                step_timeout_s=step_timeout,
                ready_timeout_s=ready_timeout,
            )
        except RunError as error:
            fail(error, PORTS)
        typer.echo(f"AGENT_PORT={server.port}")
        sys.stdout.flush()
    with Progress() as progress:
        if agent is Agent.socket and options.config.gps_model != DEFAULT_MODEL:
            progress.note(
                f"GPS is {options.config.gps_model}: agents that invert the leaderboard's "
                "conversion see the route mirrored; "
                f"--gps-model {DEFAULT_MODEL} gives them what they expect"
            )
        if server_backend is not None and scripts_of(file):
            progress.note("actor scripts beside the route file are of the embedded backend: unused")
        made = Run(options, server, progress, make_backend=partial(_simulator, server_backend))
        stop_on_signals(made)
        try:
            code = made.execute()
        except AgentRefused as error:
            fail(error, VERSION)
        except GpsModelMismatch as error:
            fail(error, GPS)
        except (RunError, ValueError) as error:
            fail(error, BAD_CONFIG)
        finally:
            if server is not None:
                server.close()
    if code == NO_AGENT:
        fail(f"no model connected within {agent_wait:g} s", NO_AGENT)
    if (out / "summary.json").exists() and code != 130:
        summary = json.loads((out / "summary.json").read_bytes())
        typer.echo(table(all_results(out), summary))
    raise typer.Exit(code)


def _simulator(made: "Backend | None") -> "Backend":
    """The server's backend, or the embedded world."""
    from sysone.drive.embedded import EmbeddedBackend

    return EmbeddedBackend() if made is None else made


def _check_shared(options: "RunOptions") -> None:
    """Whether drives can be shared out.

    Raises:
        RunError: they need something that is here alone.
    """
    if options.agent == "socket":
        raise RunError("a model behind a socket drives one route at a time: no --jobs, --engine")
    if options.backend != "embedded":
        raise RunError(f"--jobs and --engine are for --backend embedded, not {options.backend}")
    if options.save_frames:
        raise RunError("--save-frames writes while it drives: no --jobs, --engine")


def _seeds(text: str) -> list[int]:
    try:
        found = [int(part) for part in text.replace(",", " ").split()]
    except ValueError:
        raise ValueError(f"--seeds is {text!r}, expected whole numbers") from None
    if not found or len(set(found)) != len(found):
        raise ValueError(f"--seeds is {text!r}, expected different whole numbers")
    return found


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def serve(context: typer.Context) -> None:
    """Serve a model to an executor (the same as the agent kit's serve.py)."""
    from sysone.drive.service.__main__ import main as serve_main

    raise typer.Exit(serve_main(context.args))


subcommands.add_to(app)
servercommands.add_to(app)


def main() -> NoReturn:
    """The command as a program; does not return."""
    command = accept_other_names(typer.main.get_command(app))
    try:
        sys.exit(command(prog_name="sysone drive"))
    except KeyboardInterrupt:
        sys.exit(130)
