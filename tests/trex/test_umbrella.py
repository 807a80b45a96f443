"""``sysone``: the worlds under one command, loaded when they are used."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from sysone import cli


def test_help_lists_the_worlds_and_loads_none() -> None:
    program = (
        "import sys; sys.argv[1:] = ['--help']\n"
        "from sysone.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "loaded = [name for name in sys.modules if name.startswith(('sysone.', 'sysone_core'))]\n"
        "print(sorted(loaded), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr == "['sysone.cli']\n"
    for name in cli.WORLDS:
        assert f"\n  {name} " in done.stdout


def test_worlds_take_their_own_options() -> None:
    done = CliRunner().invoke(cli.app, ["trex", "--seeds", "0"])
    assert done.exit_code == 2
    assert "0 is not a whole number of at least 1" in done.stderr
    done = CliRunner().invoke(cli.app, ["serve", "--help"])
    assert done.exit_code == 0
    assert "--port" in done.stdout


def test_an_unknown_world_is_a_usage_error() -> None:
    done = CliRunner().invoke(cli.app, ["chess"])
    assert done.exit_code == 2
    assert "No such command 'chess'" in done.stderr


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    world = cli.World("sysone.trex.cli", "needs something", extra="arc")
    monkeypatch.setitem(cli.WORLDS, "arc", world)

    def load(name: str) -> None:
        raise ModuleNotFoundError("No module named 'numba'", name="numba")

    monkeypatch.setattr(cli.importlib, "import_module", load)
    done = CliRunner().invoke(cli.app, ["arc"])
    assert done.exit_code == 1
    assert done.stderr == ("sysone arc needs the package numba: pip install 'sysone-core[arc]'\n")


def test_a_mistake_in_the_arena_is_its_own_error_by_both_names() -> None:
    words = ["run", "--red", "nobody", "--duration", "4"]
    told = [
        subprocess.run([sys.executable, "-m", *name, *words], capture_output=True, text=True)
        for name in (("sysone", "arena"), ("sysone.arena",))
    ]
    assert [done.returncode for done in told] == [2, 2]
    assert told[0].stderr == told[1].stderr
    assert json.loads(told[0].stderr)["message"].startswith("no strategy is named 'nobody'")
