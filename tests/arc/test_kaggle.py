"""The contest's package: every cell of the notebook is run, both passes, with no network."""

import ast
import json
import os
import re
import struct
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from arc.framework_standin import Agent as StandIn
from sysone.arc.cli import app
from sysone.arc.config import Config, Hybrid, System2
from sysone.arc.kaggle import CONTEST, budget, empty_parquet, package, scan
from sysone.runs.errors import RunError

pytest.importorskip("arc_agi")
STANDIN = Path(sys.modules[StandIn.__module__].__file__ or "")
GAMES = Path(__file__).parents[1] / "data" / "arc" / "environment_files"

WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"

MAIN = """
import os, sys
from dotenv import load_dotenv
load_dotenv(".env")
from arc_agi import Arcade, OperationMode
from agents import AVAILABLE_AGENTS
options = dict(word.lstrip("-").split("=") for word in sys.argv[1:])
arcade = Arcade(
    arc_api_key=os.environ["ARC_API_KEY"], arc_base_url=os.environ["ARC_BASE_URL"],
    operation_mode=OperationMode(os.environ["OPERATION_MODE"]))
card = arcade.open_scorecard()
for game in options["game"].split(","):
    agent = AVAILABLE_AGENTS[options["agent"]](
        card_id=card, game_id=game, agent_name="qwenjevagent", ROOT_URL="", record=False,
        arc_env=arcade.make(game, scorecard_id=card), tags=[])
    agent.main()
    print("actions", agent.action_counter)
arcade.close_scorecard(card)
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    out = tmp_path / "kernel"
    arguments = ["package-kaggle", "--username", "someone", "--actions", "30", "--out", str(out)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "110 games x 30 actions x 150 ms" in done.stdout
    assert "lower first: hybrid.system2_max_calls_per_game" in done.stdout
    return out


def cells(kernel: Path) -> list[str]:
    found = json.loads((kernel / "qwenjev_arc.ipynb").read_text())
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    return ["".join(cell["source"]) for cell in found["cells"]]


def test_metadata_and_cells(kernel: Path) -> None:
    metadata = json.loads((kernel / "kernel-metadata.json").read_text())
    assert metadata["enable_internet"] is False
    assert metadata["competition_sources"] == [CONTEST]
    assert metadata["dataset_sources"] == ["someone/qwenjev-weights"]
    assert len(cells(kernel)) == 3
    for source in cells(kernel):
        ast.parse(source)
        # What is filled where it runs is the one mark left.
        assert set(re.findall(r"@[A-Z]+@", source)) <= {"@CHECKPOINT@"}


def wheel(folder: Path, name: str) -> None:
    """An empty wheel: the packages themselves are in this environment."""
    stem = name.replace("-", "_")
    info = f"{stem}-9.9.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{stem}-9.9-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.9\n")
        archive.writestr(f"{info}/WHEEL", WHEEL)
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def gateway() -> Iterator[str]:
    """The toolkit's own server over the golden game, on loopback."""
    import logging

    from arc_agi import Arcade, OperationMode
    from werkzeug.serving import make_server

    arcade = Arcade(
        operation_mode=OperationMode.OFFLINE,
        environments_dir=str(GAMES),
        logger=logging.getLogger("gateway"),
    )
    made: list[Any] = []
    import flask

    original = flask.Flask.run

    def run(self: Any, host: str, port: int, **_: Any) -> None:
        server = make_server("127.0.0.1", 0, self, threaded=True)
        made.append(server)
        server.serve_forever()

    flask.Flask.run = run  # type: ignore[method-assign]
    thread = threading.Thread(
        target=lambda: arcade.listen_and_serve(host="127.0.0.1", port=0), daemon=True
    )
    thread.start()
    try:
        while not made:
            assert thread.is_alive()
            thread.join(0.02)
        yield str(made[0].server_port)
    finally:
        flask.Flask.run = original  # type: ignore[method-assign]
        if made:
            made[0].shutdown()
        thread.join()


def execute(kernel: Path, scratch: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Every cell, one after the other, in one interpreter."""
    names = {"input": "INPUT", "working": "WORKING", "agent": "AGENT", "site": "SITE"}
    places = {f"SYSONE_KAGGLE_{name}": str(scratch / folder) for folder, name in names.items()}
    source = "\n".join(cells(kernel))
    environment = {**os.environ, **places, **more}
    return subprocess.run(
        [sys.executable, "-c", source],
        cwd=scratch,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    wheels = folder / "input" / CONTEST / "arc_agi_3_wheels"
    for name in ("arc-agi", "arcengine"):
        wheel(wheels, name)
    wheel(folder / "input" / "qwenjev-weights" / "wheels", "sysone-core")
    framework = folder / "input" / CONTEST / "ARC-AGI-3-Agents"
    (framework / "agents").mkdir(parents=True)
    (framework / "main.py").write_text(MAIN)
    (framework / "agents" / "__init__.py").write_text("AVAILABLE_AGENTS = {}\n")
    (framework / "agents" / "agent.py").write_text(STANDIN.read_text())
    return folder


def test_the_first_pass_writes_a_placeholder(kernel: Path, scratch: Path) -> None:
    done = execute(kernel, scratch, KAGGLE_IS_COMPETITION_RERUN="")
    assert done.returncode == 0, done.stderr
    assert "placeholder written" in done.stdout
    raw = (scratch / "working" / "submission.parquet").read_bytes()
    assert raw == empty_parquet()
    assert not (scratch / "agent").exists()


def test_the_second_pass_plays_against_the_gateway(
    kernel: Path, scratch: Path, gateway: str
) -> None:
    done = execute(
        kernel,
        scratch,
        KAGGLE_IS_COMPETITION_RERUN="1",
        SYSONE_KAGGLE_GATEWAY_HOST="127.0.0.1",
        SYSONE_KAGGLE_GATEWAY_PORT=gateway,
        SYSONE_KAGGLE_GAMES="zz01",
        OMP_NUM_THREADS="1",
    )
    assert done.returncode == 0, done.stderr
    assert "played" in done.stdout
    assert not (scratch / "working").exists()
    assert "OPERATION_MODE=online" in (scratch / "agent" / ".env").read_text()
    assert 0 < int(re.findall(r"actions (\d+)", done.stdout)[0]) <= 30


def test_a_parquet_file_without_rows() -> None:
    raw = empty_parquet()
    (length,) = struct.unpack("<I", raw[-8:-4])
    assert raw[:4] == raw[-4:] == b"PAR1"
    assert len(raw) == 12 + length


def test_a_plan_that_takes_too_long_is_refused(tmp_path: Path) -> None:
    config = Config(system2=System2(url="http://x"), hybrid=Hybrid(system2_max_calls_per_game=200))
    assert budget("t4", config)["total_h"] > 9
    with pytest.raises(RunError, match=r"the plan takes .* more than 8\.5 h"):
        package(tmp_path, "someone", "t4", config)
    assert not (tmp_path / "kernel-metadata.json").exists()
    package(tmp_path, "someone", "t4", config, force=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"username": "a b"}, "--username is 'a b'"),
        ({"accelerator": "tpu"}, "expected one of cpu, t4, rtx6000"),
        ({"weights": "x"}, "expected owner/name"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, options: dict[str, str], words: str) -> None:
    given = {"username": "someone", "accelerator": "cpu", "weights": "", **options}
    with pytest.raises(RunError, match=words):
        package(
            tmp_path, given["username"], given["accelerator"], Config(), weights=given["weights"]
        )


def test_a_token_in_the_package_stops_it(tmp_path: Path) -> None:
    (tmp_path / "cell.py").write_text(f'token = "hf_{"a" * 34}"\n')
    with pytest.raises(RunError, match=r"cell\.py holds what looks like a token"):
        scan(tmp_path)
