"""The commands beside driving: ``sysone drive score`` and the like."""

import json
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sysone.drive.cli_options import ProfileChoice, address, fail
from sysone.drive.exits import BAD_CONFIG, DIFFERS, GPS, NO_AGENT, VERSION
from sysone.runs.errors import RunError


class ReplayAgent(StrEnum):
    """Who answers in a replay."""

    recorded = "recorded"
    stub = "stub"
    socket = "socket"


def score(
    path: Annotated[Path, typer.Argument(help="Folder of a run, or a file of ticks.")],
    profile: Annotated[ProfileChoice, typer.Option()] = ProfileChoice.bench2drive,
) -> None:
    """Score again from the recorded ticks, without a simulator."""
    from sysone.drive.offline import score_again, score_ticks
    from sysone.drive.results import all_results

    try:
        if path.is_file():
            found = [score_ticks(path, profile.value)]
        else:
            found = [score_again(path, result, profile.value) for result in all_results(path)]
    except (RunError, ValueError) as error:
        fail(error, BAD_CONFIG)
    for one in found:
        typer.echo(
            f"{one.route_id}  {profile.value} {one.score_composed:g} = {one.score_route:g} % x "
            f"{one.score_penalty:g}  {one.status}"
        )


def explain(
    path: Annotated[Path, typer.Argument(help="Folder of a run.")],
) -> None:
    """Which rule of which profile moved each score, and why profiles differ."""
    from sysone.drive.report import explain as explained
    from sysone.drive.results import all_results

    try:
        results = all_results(path)
    except RunError as error:
        fail(error, BAD_CONFIG)
    typer.echo("\n".join(explained(result) for result in results))


def merge(
    folders: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="File to write.")],
) -> None:
    """One leaderboard file of several runs."""
    from sysone.drive.offline import merge as merged
    from sysone.runs.atomic import write_json

    try:
        found = merged(folders)
        write_json(out, found, indent=1)
    except RunError as error:
        fail(error, BAD_CONFIG)
    means = found["_checkpoint"]["global_record"]["scores_mean"]
    count = len(found["_checkpoint"]["records"])
    typer.echo(f"{count} drives, driving score {means['score_composed']:g}: {out}")


def compare(
    first: Annotated[Path, typer.Argument(help="Folder of a run.")],
    second: Annotated[Path, typer.Argument(help="Folder of another.")],
    profile: Annotated[ProfileChoice, typer.Option()] = ProfileChoice.bench2drive,
) -> None:
    """Paired bootstrap of two runs on the drives that both have."""
    from sysone.drive.offline import compare as compared

    try:
        found = compared(first, second, profile.value)
    except RunError as error:
        fail(error, BAD_CONFIG)
    d = found.difference
    typer.echo(
        f"{first} {found.ours:.2f}, {second} {found.theirs:.2f} ({profile.value}, {d.pairs} pairs)"
    )
    typer.echo(f"difference {d.mean:+.2f}, 95 % interval {d.low:+.2f} to {d.high:+.2f}")
    typer.echo(f"smallest difference that these pairs would show: {d.smallest_detectable:.2f}")


def replay(
    path: Annotated[Path, typer.Argument(help="Folder of a run.")],
    routes: Annotated[str, typer.Option(help="Its route file.")] = "routes_mini.xml",
    subset: Annotated[str | None, typer.Option(help="Such as 3,7-12.")] = None,
    xodr: Annotated[Path | None, typer.Option(help="Its map.")] = None,
    map_reader: Annotated[str, typer.Option(help="auto, carla or own.")] = "auto",
    agent: Annotated[ReplayAgent, typer.Option(help="Who answers.")] = ReplayAgent.recorded,
    agent_bind: Annotated[str, typer.Option(help="Port 0: choose one.")] = "127.0.0.1:5555",
    agent_wait: Annotated[float, typer.Option(help="Seconds to wait for a model.")] = 60.0,
) -> None:
    """Feed recorded drives to the executor again: same scores? what would this model answer?"""
    import hashlib

    from sysone.drive.agents import AgentRefused, AgentSocketServer
    from sysone.drive.drivers import Driver, SocketDriver, StubDriver
    from sysone.drive.gps import GpsModelMismatch
    from sysone.drive.replay import RecordedDriver
    from sysone.drive.replaying import replay_run
    from sysone.drive.report import replayed_line
    from sysone.drive.routes import RouteError, read_routes
    from sysone.drive.routes import subset as chosen
    from sysone.drive.shipped import find_routes, map_of
    from sysone.drive.ticks import TickStore

    server = None
    same = True
    try:
        file = find_routes(routes)
        wanted = chosen(read_routes(file), subset)
        towns = {route.town for route in wanted}
        if len(towns) > 1:
            raise RouteError(f"the routes lie in {', '.join(sorted(towns))}, expected one town")
        road_map = map_of(next(iter(towns)), xodr, map_reader)
        if agent is ReplayAgent.socket:
            server = AgentSocketServer(*address(agent_bind))
            typer.echo(f"AGENT_PORT={server.port}")
            sys.stdout.flush()
            if not server.accept(agent_wait):
                fail(f"no model connected within {agent_wait:g} s", NO_AGENT)
        makers: dict[ReplayAgent, Callable[[TickStore], Driver]] = {
            ReplayAgent.recorded: RecordedDriver,
            ReplayAgent.stub: lambda store: StubDriver(),
            ReplayAgent.socket: lambda store: SocketDriver(server) if server else StubDriver(),
        }
        sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
        for found in replay_run(path, wanted, sha256, road_map, makers[agent]):
            typer.echo(replayed_line(found))
            same = same and found.same
    except AgentRefused as error:
        fail(error, VERSION)
    except GpsModelMismatch as error:
        fail(error, GPS)
    except (RunError, ValueError) as error:
        fail(error, BAD_CONFIG)
    finally:
        if server is not None:
            server.close()
    raise typer.Exit(0 if same else DIFFERS)


def agent_kit(folder: Annotated[Path, typer.Argument(help="An empty or new folder.")]) -> None:
    """Write the model's side as a folder of its own: Python 3.10, NumPy, nothing else."""
    from sysone.drive.kit import write_kit

    try:
        files = write_kit(folder)
    except RunError as error:
        fail(error, BAD_CONFIG)
    typer.echo(f"{len(files)} files in {folder}: python {folder / 'serve.py'} --help")


def map_show(
    path: Annotated[Path | None, typer.Argument(help="OpenDRIVE file [shipped MiniGrid].")] = None,
) -> None:
    """What a map holds, as JSON."""
    from sysone.drive.opendrive import STOP_SIGN, TRAFFIC_LIGHT
    from sysone.drive.shipped import map_of

    try:
        road_map = map_of("MiniGrid", path)
    except RunError as error:
        fail(error, BAD_CONFIG)
    west, north, east, south = road_map.bounds()
    found: dict[str, Any] = {
        "name": road_map.name,
        "roads": len(road_map.roads),
        "junctions": len({r.junction for r in road_map.roads.values() if r.junction >= 0}),
        "lane_km": round(len(road_map.waypoints(10.0)) / 100, 2),
        "lights": sum(signal.type == TRAFFIC_LIGHT for signal in road_map.signals),
        "stop_signs": sum(signal.type == STOP_SIGN for signal in road_map.signals),
        "gps_ref": list(road_map.reference),
        "bounds_m": [round(v, 1) for v in (west, north, east, south)],
    }
    typer.echo(json.dumps(found, indent=1))


def map_gen(
    out: Annotated[Path, typer.Argument(help="File to write.")],
    rows: Annotated[int, typer.Option()] = 3,
    columns: Annotated[int, typer.Option()] = 3,
    spacing: Annotated[float, typer.Option(help="Metres.")] = 160.0,
    lanes: Annotated[int, typer.Option(help="In each direction.")] = 1,
    control: Annotated[str, typer.Option(help="lights, stops or none.")] = "lights",
) -> None:
    """Write a grid map in OpenDRIVE."""
    from sysone.drive.mapgen import grid_map
    from sysone.runs.atomic import write_text

    try:
        write_text(out, grid_map(rows, columns, spacing, lanes, control))
    except (ValueError, RunError) as error:
        fail(error, BAD_CONFIG)
    typer.echo(str(out))


def add_to(app: typer.Typer) -> None:
    """Register them."""
    for command in (score, explain, replay, merge, compare):
        app.command()(command)
    app.command("agent-kit")(agent_kit)
    map_app = typer.Typer(help="Maps.", no_args_is_help=True)
    map_app.command("show")(map_show)
    map_app.command("gen")(map_gen)
    app.add_typer(map_app, name="map")
