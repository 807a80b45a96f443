"""Strategies that attack: each is held, its fault is counted, and the other side plays on."""

import json
import os
import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest

from sysone.arena import lineup, sources
from sysone.arena.engine import Setup, Team
from sysone.arena.isolation import Sandbox, UnavailableError, choose, pids
from sysone.arena.isolation.base import TrustedLocal
from sysone.arena.isolation.bubblewrap import Bubblewrap, site_folders, unavailable
from sysone.arena.isolation.docker import Docker
from sysone.arena.isolation.sdk import sdk_folder
from sysone.arena.match import Limits, Side, play
from sysone_core.arena import seccomp_filter

WHY = unavailable()
bubblewrap = pytest.mark.skipif(WHY is not None, reason=f"no bubblewrap: {WHY}")
LIMITS = Limits(timeout_s=30, startup_s=120, match_s=600, memory_mb=512)
SECRET = "the parent's own"


def strategy(folder: Path, body: str) -> sources.Strategy:
    folder.mkdir(exist_ok=True)
    (folder / "arena.toml").write_text(
        '[strategy]\nkey = "attacker"\nname = "Attacker"\nversion = "1"\nseason = "2027"\n'
        'mode = "team"\nentry = "main:act"\nsdk = 1\n'
    )
    (folder / "main.py").write_text(textwrap.dedent(body))
    return sources.load(folder)


def match(
    folder: Path,
    body: str,
    *,
    isolation: Any = None,
    limits: Limits = LIMITS,
    seconds: float = 1.0,
) -> dict[str, Any]:
    """A match of an attacker (red) against a bundled strategy; its result."""
    sides: dict[Team, Side] = {
        "red": Side("team", {0: strategy(folder, body)}),
        "blue": Side("team", {0: sources.find("bundled:std_2027_hold")}),
    }
    lines = dict.fromkeys(sides, lineup.default("2027"))
    setup = Setup("2027", 3, lines, duration_s=seconds)
    played = play(
        setup, sides, limits, isolation=isolation or Bubblewrap(), log_folder=folder.parent / "logs"
    )
    result = played.result
    assert result["error"] is None, result
    assert result["ticks"] == seconds * 20
    assert result["strategies"]["blue"]["errors"] == {}, "the other side plays on"
    assert result["strategies"]["blue"]["decisions"] == seconds * 10
    return result


# What a strategy may do -------------------------------------------------------------------------


@bubblewrap
def test_an_ordinary_strategy_plays_the_same_match_inside(tmp_path: Path) -> None:
    body = """
        import threading, socket
        import numpy as np
        from sysone.arena.sdk.navigate import Navigator

        def setup(info):
            global way
            way = Navigator(info)

        def act(observation, state):
            state["n"] = state.get("n", 0) + 1
            thread = threading.Thread(target=sum, args=([1],))
            thread.start()
            thread.join()
            a, b = socket.socketpair()
            a.close(); b.close()
            with open("/tmp/notes", "a") as file:
                file.write("x")
            return {"3": {"move": [float(np.cos(state["n"])), 0.5]}}
    """
    inside = match(tmp_path / "mine", body)
    outside = match(tmp_path / "mine", body, isolation=TrustedLocal())
    assert inside["status"] == outside["status"] == "ok", inside["strategies"]["red"]
    assert inside["digest"] == outside["digest"]
    assert (inside["isolation"], outside["isolation"]) == ("bubblewrap", "none")
    assert inside["strategies"]["red"]["peak_rss_mb"] > 5


@bubblewrap
@pytest.mark.skipif(pids.parent() is None, reason="no control group can be made here")
def test_threads_are_limited_and_the_group_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = """
        import threading

        wait = threading.Event()
        begun = 0
        try:
            for begun in range(1000):
                threading.Thread(target=wait.wait, daemon=True).start()
        except RuntimeError:
            pass
        print("begun", begun, flush=True)

        def act(observation, state):
            return {}
    """
    monkeypatch.setattr(pids, "KEEP_S", 0.0)
    match(tmp_path / "mine", body)
    (line,) = [
        line
        for line in (tmp_path / "logs" / "red.log").read_text().splitlines()
        if line.startswith("begun")
    ]
    assert 1 <= int(line.split()[1]) < pids.MOST_TASKS
    pids.entered(["true"])
    folder = pids.parent()
    assert folder is not None
    assert len(list(folder.glob(f"sysone-{os.getpid()}-*"))) == 1


# What it may not --------------------------------------------------------------------------------

ATTACKS = """
    import ctypes, json, os, pathlib, signal, socket, subprocess, sys

    libc = ctypes.CDLL(None, use_errno=True)

    def system_call(number, *arguments):
        if libc.syscall(number, *arguments) < 0:
            raise OSError(ctypes.get_errno(), "refused")

    def read(path):
        return lambda: open(path).read()

    def write(path):
        return lambda: open(path, "w").write("x")

    def environment():
        found = pathlib.Path("/proc/1/environ").read_bytes() + repr(os.environ).encode()
        if b"SYSONE_TEST_SECRET" not in found:
            raise OSError("not there")

    def see_others():
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        names = [pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids]
        if not any(b"sim_host" in name or b"pytest" in name for name in names):
            raise OSError("nobody there")

    def kill_everybody():
        for pid in range(1, 40000):
            if pid != os.getpid():
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
        # pid 1 of the sandbox is not killed by its own; nobody else is there
        raise OSError("nobody was hit")

    def bundled():
        import sysone.arena
        folder = pathlib.Path(sysone.arena.__file__).parent / "strategies"
        return list(folder.iterdir())

    ATTACKS = {
        "shadow": read("/etc/shadow"),
        "passwd": read("/etc/passwd"),
        "host files": lambda: os.listdir("/var"),
        "repository": lambda: os.listdir(REPOSITORY),
        "other strategy": read(OTHER),
        "bundled strategies": bundled,
        "environment": environment,
        "processes": see_others,
        "kill": kill_everybody,
        "internet": lambda: socket.create_connection(("127.0.0.1", 9), 1),
        "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "abstract socket": lambda: socket.socket(socket.AF_UNIX),
        "fork": os.fork,
        "subprocess": lambda: subprocess.run(["/bin/true"], check=True),
        "write root": write("/probe"),
        "write itself": write("/strategy/main.py"),
        "write sdk": write("/sdk/host.py"),
        "write python": write(os.path.join(sys.prefix, "probe")),
        "write proc": write("/proc/sys/kernel/hostname"),
        "large file": lambda: open("/tmp/large", "wb").write(bytes(80 << 20)),
        "ptrace": lambda: system_call(101, 16, 1, 0, 0),
        "mount": lambda: system_call(165, b"none", b"/tmp", b"tmpfs", 0, 0),
        "unshare": lambda: system_call(272, 0x10000000),
        "bpf": lambda: system_call(321, 0, 0, 0),
        "keyctl": lambda: system_call(250, 0, -3, 0),
        "perf": lambda: system_call(298, 0, 0, -1, -1, 0),
        "userfaultfd": lambda: system_call(323, 0),
        "io_uring": lambda: system_call(425, 1, bytes(120)),
        "clone3": lambda: system_call(435, bytes(88), 88),
        "set clock": lambda: __import__("time").clock_settime(0, 0),
        "more memory": lambda: __import__("resource").setrlimit(9, (-1, -1)),
    }

    found = {}
    for name, attack in ATTACKS.items():
        try:
            attack()
            found[name] = "done"
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            found[name] = type(error).__name__
    print(json.dumps(found), flush=True)

    def act(observation, state):
        raise PermissionError("held")
"""


@bubblewrap
def test_doors_are_shut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSONE_TEST_SECRET", SECRET)
    other = tmp_path / "other.txt"
    other.write_text("the other side's plan")
    places = {
        "REPOSITORY": str(Path(__file__).parents[2] / "tests"),
        "OTHER": str(other),
    }
    values = "".join(f"{name} = {value!r}\n" for name, value in places.items())
    body = values + textwrap.dedent(ATTACKS)
    result = match(tmp_path / "attacker", body)
    red = result["strategies"]["red"]
    assert result["status"] == "strategy_error"
    assert red["errors"] == {"exception": 10}
    assert "held" in red["first_errors"][0]["detail"]
    found = json.loads((tmp_path / "logs" / "red.log").read_text().splitlines()[0])
    done = [name for name, what in found.items() if what == "done"]
    assert done == []
    assert len(found) == 31


@bubblewrap
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("def act(observation, state):\n    return bytearray(2 << 30) and {}\n", "memory"),
        ("import os\ndef act(observation, state):\n    while True: os.fork()\n", "exception"),
        ("import os\ndef act(observation, state):\n    os._exit(7)\n", "crashed"),
        ("import os\ndef act(observation, state):\n    os.kill(os.getpid(), 11)\n", "crashed"),
        ("def act(observation, state):\n    return {'blue-3': {'fire': True}}\n", "not_own_robot"),
        ("def act(observation, state):\n    return 'x' * (9 << 20)\n", "too_large"),
        ("def act(observation, state):\n    return {3: {4: object()}}\n", "bad_reply"),
        ("import os\ndef act(observation, state):\n    os.write(4, b'\\xff' * 64)\n", "bad_reply"),
        ("def act(observation, state):\n    x = []\n    x.append(x)\n    return x\n", "bad_reply"),
    ],
    ids=["memory", "fork bomb", "exit", "segfault", "other side", "huge reply", "not JSON",
         "garbage", "circular"],
)  # fmt: skip
def test_faults_are_counted_by_their_code(tmp_path: Path, body: str, code: str) -> None:
    result = match(tmp_path / "attacker", body)
    assert result["status"] == "strategy_error"
    assert code in result["strategies"]["red"]["errors"], result["strategies"]["red"]


@bubblewrap
def test_a_flood_of_output_ends_at_the_limit_of_files(tmp_path: Path) -> None:
    body = """
        import sys

        def act(observation, state):
            for _ in range(100):
                sys.stdout.write("x" * (1 << 20))
                sys.stdout.flush()
            return {}
    """
    result = match(tmp_path / "attacker", body)
    assert result["status"] == "strategy_error"
    assert (tmp_path / "logs" / "red.log").stat().st_size <= 64 << 20


@bubblewrap
def test_a_busy_loop_loses_its_turns_and_then_its_process(tmp_path: Path) -> None:
    body = """
        def act(observation, state):
            while True:
                pass
    """
    limits = Limits(timeout_s=0.5, startup_s=120, match_s=600)
    folder = tmp_path / "attacker"
    sides: dict[Team, Side] = {
        "red": Side("team", {0: strategy(folder, body)}),
        "blue": Side("team", {0: sources.find("bundled:std_2027_hold")}),
    }
    lines = dict.fromkeys(sides, lineup.default("2027"))
    result = play(
        Setup("2027", 3, lines, duration_s=2.0), sides, limits, isolation=Bubblewrap()
    ).result
    errors = result["strategies"]["red"]["errors"]
    assert errors["timeout"] >= 5
    assert errors["strategy_dead"] == 1
    assert result["ticks"] == 40


@bubblewrap
def test_nothing_is_left_of_a_sandbox(tmp_path: Path) -> None:
    def sandboxes() -> set[str]:
        found = set()
        for entry in Path("/proc").iterdir():
            try:
                if b"attacker-process" in (entry / "cmdline").read_bytes():
                    found.add(entry.name)
            except OSError:
                continue
        return found

    match(tmp_path / "attacker-process", "def act(observation, state):\n    return {}\n")
    assert sandboxes() == set()


# The command lines ------------------------------------------------------------------------------


def test_bubblewraps_command_line(tmp_path: Path) -> None:
    with Bubblewrap().prepared(Sandbox(tmp_path, 512, 1800), (5, 6)) as launch:
        told = [os.pread(number, 1 << 16, 0) for number in launch.descriptors]
        command = launch.command
    options = told[-1].decode().rstrip("\0").split("\0")
    text = " ".join(options)
    for part in (
        "--unshare-all --die-with-parent --new-session --clearenv --cap-drop ALL",
        "--uid 65534 --gid 65534 --hostname strategy",
        f"--ro-bind {tmp_path} /strategy",
        f"--ro-bind {sdk_folder()} /sdk",
        "--size 67108864 --tmpfs /tmp",
        "--chdir /strategy",
        "--remount-ro /",
    ):
        assert part in text
    assert "--bind" not in options, "nothing is bound for writing"
    if seccomp_filter():
        assert told[0] == seccomp_filter()
        assert options[-2:] == ["--seccomp", str(launch.descriptors[0])]
    begin = command.index("bwrap")
    assert command[begin : begin + 2] == ["bwrap", "--args"]
    assert str(tmp_path) not in " ".join(command), "the command line can be seen from inside"
    settings = json.loads(command[-1])
    assert settings["channel"] == [5, 6]
    assert settings["limits"]["AS"] == 512 << 20
    assert settings["limits"]["CPU"] == 1800
    for number in launch.descriptors:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(number)


def test_dockers_command_line(tmp_path: Path) -> None:
    command = Docker("image:1").command(Sandbox(tmp_path, 256, 60))
    assert command[:-1] == [
        "docker", "run", "--rm", "-i", "--network", "none", "--read-only",
        "--tmpfs", "/tmp:rw,size=64m,noexec,nosuid,nodev",
        "--memory", "256m", "--memory-swap", "256m", "--cpus", "1", "--pids-limit", "64",
        "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", "65534:65534",
        "--ipc", "none", "--log-driver", "none", "--hostname", "strategy",
        "--workdir", "/strategy", "-v", f"{tmp_path}:/strategy:ro", "-v", f"{sdk_folder()}:/sdk:ro",
        "-e", "PYTHONHASHSEED=0", "-e", "PYTHONDONTWRITEBYTECODE=1", "-e", "OMP_NUM_THREADS=1",
        "image:1", "python", "-I", "/sdk/host.py",
    ]  # fmt: skip
    settings = json.loads(command[-1])
    assert settings["channel"] == [0, 1]
    assert "AS" not in settings["limits"], "the container's own limit holds"


def test_a_docker_that_only_passes_the_streams_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The channel over standard streams, with a stand-in for docker that runs the host here."""
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    python, sdk = shutil.which("python3") or "python3", sdk_folder()
    paths = os.pathsep.join([str(sdk), *site_folders()])
    program.write_text(
        f"#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\n"
        f'settings=$(echo "$1" | sed s/\'"confined":true\'/\'"confined":false\'/)\n'
        f'exec env PYTHONPATH={paths} {python} {sdk}/host.py "$settings"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    class Here(Docker):
        folder = str(tmp_path / "mine")

    result = match(
        tmp_path / "mine",
        "print('hello')\ndef act(observation, state):\n    return {'3': {'spin': 0.5}}\n",
        isolation=Here("image:1"),
    )
    assert result["status"] == "ok", result["strategies"]["red"]
    assert "hello" in (tmp_path / "logs" / "red.log").read_text()


def test_auto_never_falls_back_to_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sysone.arena.isolation.bubblewrap.unavailable", lambda: "bwrap is not installed"
    )
    monkeypatch.setattr("sysone.arena.isolation.docker.unavailable", lambda image: "no daemon")
    with pytest.raises(UnavailableError) as refused:
        choose("auto")
    assert "bwrap is not installed; no daemon" in str(refused.value)
    assert "--trusted-local" in str(refused.value)
    with pytest.raises(UnavailableError):
        choose("docker")
    assert choose("none").name == "none"
    monkeypatch.setattr("sysone.arena.isolation.docker.unavailable", lambda image: None)
    assert choose("auto").name == "docker"


def test_the_filter_is_a_program() -> None:
    program = seccomp_filter()
    assert len(program) % 8 == 0
    assert len(program) > 200


def test_the_sdk_is_all_that_is_ours() -> None:
    names = {path.relative_to(sdk_folder()).as_posix() for path in sdk_folder().rglob("*.py")}
    assert {"host.py", "sysone/arena/sdk/host.py", "sysone_core/arena.py"} <= names
    assert not any("strategies" in name or "match" in name for name in names)
