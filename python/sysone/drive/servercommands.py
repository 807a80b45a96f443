"""The commands around a server: ``probe``, ``preflight``, ``watch`` and ``doctor``."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from sysone.drive.cli_options import fail
from sysone.drive.exits import BAD_CONFIG, BLOCKED, PORTS
from sysone.runs.errors import RunError

Side = Annotated[str, typer.Option(help="ue5 (0.10) or ue4 (0.9): default ports.")]
HostOption = Annotated[str | None, typer.Option("--carla-host", help="[found by itself]")]
PortOption = Annotated[int | None, typer.Option("--carla-port", help="[2021, ue4: 2031]")]
TmOption = Annotated[int, typer.Option("--tm-port", help="Traffic manager's port.")]


def probe(
    side: Side = "ue5",
    carla_host: HostOption = None,
    carla_port: PortOption = None,
    backend: Annotated[str, typer.Option(help="carla or stand-in.")] = "carla",
    stand_in_script: Annotated[Path | None, typer.Option(help="Its faults.")] = None,
) -> None:
    """Ask a server whether it lives: JSON of its version, town and actors; exit 4 if it does not.

    The question is asked in a process of its own, as the client may abort.
    """
    from sysone.drive.backend import ServerLost, SimulationCrashed
    from sysone.drive.serverside import make_backend

    try:
        made, where = make_backend(
            backend, side, carla_host, carla_port, 8000, "never", stand_in_script
        )
    except RunError as error:
        fail(error, BAD_CONFIG)
    address = f"{where.address}:{made.address.port}"
    typer.echo(f"server: {address} ({where.rule})", err=True)
    try:
        typer.echo(json.dumps({"alive": True, "address": address, **made.probe()}))
    except ServerLost as error:
        typer.echo(json.dumps({"alive": False, "address": address, "reason": error.kind}))
        fail(error, BAD_CONFIG if error.kind == "import" else BLOCKED)
    except SimulationCrashed as error:
        typer.echo(json.dumps({"alive": False, "address": address, "reason": "crashed"}))
        fail(error, BLOCKED)
    finally:
        made.close()


def preflight(
    side: Side = "ue5",
    carla_port: PortOption = None,
    tm_port: TmOption = 8000,
    auto_port: Annotated[bool, typer.Option("--auto-port", help="Take the next gap.")] = False,
) -> None:
    """Look at a server's ports before it is started; exit 11 where one cannot be used.

    Prints JSON of the ports to use. Needs no server and no client.
    """
    from sysone.drive.ports import DEFAULT_PORT, check_ports
    from sysone.drive.serverside import SIDES

    if side not in SIDES:
        fail(f"--side is {side!r}, expected {' or '.join(SIDES)}", BAD_CONFIG)
    rpc = DEFAULT_PORT[side] if carla_port is None else carla_port
    for name, value in (("--carla-port", rpc), ("--tm-port", tm_port)):
        if not 1 <= value <= 65533:
            fail(f"{name} is {value}, expected 1 to 65533", BAD_CONFIG)
    found = check_ports(rpc, tm_port)
    typer.echo(found.text(), err=True)
    if found.free or (auto_port and found.proposed_rpc is not None):
        taken = {"carla_port": found.proposed_rpc, "tm_port": found.proposed_tm}
        typer.echo(json.dumps({"free": found.free, **taken}))
        return
    typer.echo(json.dumps({"free": False, "problems": [str(one) for one in found.problems]}))
    raise typer.Exit(PORTS)


def watch(
    server: Annotated[
        str | None, typer.Option(help="Program that starts the server (CarlaUE4.sh, …).")
    ] = None,
    side: Side = "ue5",
    carla_host: HostOption = None,
    carla_port: PortOption = None,
    tm_port: TmOption = 8000,
    auto_port: Annotated[bool, typer.Option("--auto-port", help="Take the next gap.")] = False,
    adapters: Annotated[str, typer.Option(help="Graphics adapters to try, in turn.")] = "0,2,1,3",
    run: Annotated[Path | None, typer.Option(help="Folder of the run to watch.")] = None,
    run_pid: Annotated[int | None, typer.Option(help="Its process group to stop.")] = None,
    model: Annotated[str | None, typer.Option(help="Command of the model, restarted.")] = None,
    step_timeout: Annotated[float, typer.Option(help="The run's.")] = 2.0,
    keep_server: Annotated[bool, typer.Option("--keep-server")] = False,
) -> None:
    """Keep a server (and a model) up while a run goes on; exit 4 after three failed restarts.

    Ends when the run in --run is done; a server without clients renders at full speed, so it is
    stopped then.
    """
    from sysone.drive.machine import system
    from sysone.drive.ports import DEFAULT_PORT
    from sysone.drive.serverside import SIDES
    from sysone.drive.watchdog import Watchdog, WatchOptions

    if side not in SIDES:
        fail(f"--side is {side!r}, expected {' or '.join(SIDES)}", BAD_CONFIG)
    try:
        cards = tuple(int(part) for part in adapters.split(","))
    except ValueError:
        fail(f"--adapters is {adapters!r}, expected numbers with commas", BAD_CONFIG)
    options = WatchOptions(
        server=None if server is None else tuple(shlex.split(server)),
        side=side,
        host=carla_host,
        port=DEFAULT_PORT[side] if carla_port is None else carla_port,
        tm_port=tm_port,
        auto_port=auto_port,
        adapters=cards,
        run=run,
        run_pid=run_pid,
        model=None if model is None else tuple(shlex.split(model)),
        step_timeout_s=step_timeout,
        keep_server=keep_server,
    )
    watchdog = Watchdog(options, system(options.host), lambda text: typer.echo(text, err=True))
    try:
        raise typer.Exit(watchdog.run())
    except KeyboardInterrupt:
        watchdog.end()
        raise typer.Exit(130) from None


def doctor() -> None:
    """What is installed, what is missing, and what the next step is, in one screen."""
    from sysone.drive.doctor import examine

    checks = examine()
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark = {True: "ok", False: "--", None: "!!"}[check.good]
        typer.echo(f"{mark}  {check.name.ljust(width)}  {check.found}")
        if check.next_step:
            typer.echo(f"{' ' * (width + 6)}-> {check.next_step}")
    if any(check.good is None for check in checks):
        typer.echo("sysone drive: what is marked !! must be mended first", err=True)
        sys.stdout.flush()
        raise typer.Exit(BAD_CONFIG)


def add_to(app: typer.Typer) -> None:
    """Register them."""
    for command in (probe, preflight, watch, doctor):
        app.command()(command)
