"""A strategy's life: begun, assembled, packed, registered, fetched; and hostile archives."""

import io
import json
import os
import stat
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sysone.arena import cli, lineup, manifest, match, sources
from sysone.arena.agents import archive, registry
from sysone.arena.engine import Setup, Team
from sysone.arena.errors import ArenaError

PATIENT = match.Limits(timeout_s=30, startup_s=120)


def call(capsys: Any, *arguments: str) -> tuple[int, Any, str]:
    with pytest.raises(SystemExit) as left:
        cli.main(list(arguments))
    out, err = capsys.readouterr()
    code = left.value.code
    assert isinstance(code, int)
    return code, json.loads(out) if out else None, err


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ARENA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


# Begun ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], ["--mode", "robot", "--model", "2731"]])
def test_a_new_agent_is_accepted_as_it_is(tmp_path: Path, capsys: Any, words: list[str]) -> None:
    code, out, _ = call(capsys, "new-agent", "first_try", *words)
    assert code == 0
    assert {Path(name).name for name in out["files"]} == {
        "arena.toml", "main.py", "test_smoke.py", "README.md",
    }  # fmt: skip
    code, report, _ = call(
        capsys, "validate", "./first_try", "--trusted-local", "--timeout", "30", "--self-play", "1"
    )
    assert code == 0, report
    code, _, err = call(capsys, "new-agent", "first_try")
    assert code == 2
    assert "already there" in err


def test_its_own_test_passes(tmp_path: Path, capsys: Any) -> None:
    call(capsys, "new-agent", "first_try")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "first_try/tests"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    # Its budgets are those of a match, which a busy machine may not keep: then it says timeout.
    assert done.returncode == 0 or "timeout" in done.stdout, done.stdout


# start-training and refresh-agent ------------------------------------------------------------


def test_training_begins_with_a_loop_that_plays(tmp_path: Path, capsys: Any) -> None:
    env = tmp_path / "env.json"
    env.write_text('{"duration": 2, "opponent": "bundled:std_2027_hold", "timeout": 30}')
    code, _, _ = call(
        capsys, "start-training", "mine", "--from", "std_2027_rush", "--env-config", str(env)
    )
    assert code == 0
    folder = tmp_path / "training" / "mine"
    config = json.loads((folder / "config.json").read_text())
    assert config["from"]["key"] == "std_2027_rush"
    assert config["opponent"]["key"] == "std_2027_hold"
    assert set(config["fingerprints"]) >= {"engine", "rules", "field"}
    seeds = json.loads((folder / "seeds.json").read_text())
    assert not set(seeds["train"]) & set(seeds["evaluate"])
    assert sources.load(folder / "strategy").key == "std_2027_rush"
    done = subprocess.run(
        [sys.executable, "train.py", "--rounds", "2", "--seeds", "3", "--trusted-local"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["episodes"] for line in lines] == [3, 3]
    assert lines[0]["mean_reward"] == lines[1]["mean_reward"], "the same seeds, the same strategy"
    assert (folder / "logs" / "rounds.jsonl").read_text() == done.stdout
    code, _, err = call(capsys, "start-training", "mine", "--from", "std_2027_rush")
    assert code == 2
    assert "already there" in err


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("[]", "must hold an object"),
        ("{", "is not JSON"),
        ('{"speed": 3}', "'speed' is no option of an environment"),
        ('{"season": "2026"}', "is for season 2027, not 2026"),
    ],
)
def test_training_is_refused(tmp_path: Path, capsys: Any, env: str, message: str) -> None:
    file = tmp_path / "env.json"
    file.write_text(env)
    words = ("start-training", "mine", "--from", "std_2027_rush", "--env-config", str(file))
    code, _, err = call(capsys, *words)
    assert code == 2
    assert message in err
    assert not (tmp_path / "training").exists()


def test_a_strategy_is_refreshed_and_its_authors_files_are_kept(
    tmp_path: Path, capsys: Any
) -> None:
    call(capsys, "new-agent", "first_try")
    folder = tmp_path / "first_try"
    manifest = folder / "arena.toml"
    now = manifest.read_text()
    old = now.replace("sdk = 1\n", "sdk = 0  # of last year\n")
    manifest.write_text(old)
    (folder / "tests" / "test_smoke.py").write_text("# as it once was\n")
    (folder / "main.py").write_text("mine = 1\n")
    code, out, err = call(capsys, "refresh-agent", "first_try")
    assert code == 0
    assert manifest.read_text() == now.replace("sdk = 1\n", "sdk = 1  # of last year\n")
    assert (folder / "arena.toml.bak").read_text() == old
    assert (folder / "tests" / "test_smoke.py.bak").read_text() == "# as it once was\n"
    assert (folder / "main.py").read_text() == "mine = 1\n"
    assert "-sdk = 0  # of last year\n+sdk = 1  # of last year\n" in err
    assert [row["changed"] for row in out["files"]] == [True, True]
    code, out, err = call(capsys, "refresh-agent", "first_try")
    assert [row["changed"] for row in out["files"]] == [False, False]
    assert err == ""


def test_a_manifest_without_an_sdk_gets_one(tmp_path: Path, capsys: Any) -> None:
    call(capsys, "new-agent", "first_try")
    manifest = tmp_path / "first_try" / "arena.toml"
    manifest.write_text(manifest.read_text().replace("sdk = 1\n", ""))
    assert call(capsys, "refresh-agent", "first_try")[0] == 0
    assert sources.load(tmp_path / "first_try").manifest.strategy.sdk == 1
    code, _, err = call(capsys, "refresh-agent", "nowhere")
    assert code == 2
    assert "No such file" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["No"], "NAME must be"),
        (["fine_name", "--mode", "solo"], "--mode must be team or robot"),
        (["fine_name", "--mode", "robot"], "needs --model"),
        (["fine_name", "--model", "2731"], "needs --model, and --mode team has none"),
        (["fine_name", "--mode", "robot", "--model", "1"], "--model 1 is none of season 2027"),
        (["fine_name", "--season", "2020"], "2020"),
    ],
)
def test_mistakes_write_nothing(
    tmp_path: Path, capsys: Any, words: list[str], message: str
) -> None:
    code, _, err = call(capsys, "new-agent", *words)
    assert code == 2
    assert message in json.loads(err)["message"]
    assert list(tmp_path.iterdir()) == []


# Assembled --------------------------------------------------------------------------------------


def robot(folder: Path, model: int, spin: float) -> None:
    """A robot strategy whose helper module is called as in every other one."""
    folder.mkdir()
    (folder / "arena.toml").write_text(
        f'[strategy]\nkey = "{folder.name}"\nname = "R"\nversion = "1"\nseason = "2027"\n'
        f'mode = "robot"\nentry = "main:act"\nsdk = 1\n[robot]\nmodel = {model}\n'
    )
    (folder / "helper.py").write_text(f"SPIN = {spin}\n")
    (folder / "later.py").write_text(f"SPIN = {spin}\n")
    (folder / "main.py").write_text(
        "import helper\n\n"
        "def reset(info):\n    global slots\n    slots = info['slots']\n\n"
        "def act(observation, state):\n"
        "    import later\n"
        "    assert later.SPIN == helper.SPIN\n"
        "    state['n'] = state.get('n', 0) + 1\n"
        "    slot = str(observation['self'])\n"
        "    assert slots == [observation['self']]\n"
        "    return {slot: {'spin': helper.SPIN * state['n'] / 10}, '7': {'fire': True}}\n"
    )


def test_parts_do_not_meet(tmp_path: Path, capsys: Any) -> None:
    for slot, (model, spin) in {3: (2731, 0.1), 4: (2732, 0.2), 1: (2711, -0.3)}.items():
        robot(tmp_path / f"robot_{slot}", model, spin)
    code, out, _ = call(
        capsys, "assemble", "--team-out", "my_team",
        *(f"--robot={slot}=./robot_{slot}" for slot in (3, 4, 1)),
    )  # fmt: skip
    assert code == 0
    assert [part["key"] for part in out["parts"]] == ["robot_1", "robot_3", "robot_4"]
    found = sources.load(tmp_path / "my_team")
    assert found.manifest.roster is not None
    assert found.manifest.roster.lock
    sys.path.insert(0, str(found.folder))
    try:
        from sysone.arena.sdk.assembled import Assembled

        team = Assembled(found.folder)
        team.reset({"slots": [1, 3, 4], "models": {"1": 2711, "3": 2731, "4": 2732}})
        observation = {"robots": {"1": {}, "3": {}, "4": {}}}
        for turn in (1, 2, 3):
            actions = team.act(observation, {})
            assert {slot: action["spin"] for slot, action in actions.items()} == pytest.approx(
                {"1": -0.03 * turn, "3": 0.01 * turn, "4": 0.02 * turn}
            )
            # What a part says of another slot is not heard.
            assert "7" not in actions
        assert "helper" not in sys.modules
    finally:
        sys.path.remove(str(found.folder))
    sides: dict[Team, match.Side] = {
        "red": match.Side("team", {0: found}),
        "blue": match.Side("team", {0: sources.find("std_2027_hold")}),
    }
    lines: dict[Team, lineup.Lineup] = {
        "red": lineup.read(found.manifest.roster.robots), "blue": lineup.default("2027"),
    }  # fmt: skip
    result = match.play(Setup("2027", 1, lines, duration_s=1.0), sides, PATIENT).result
    assert result["status"] == "ok", result["strategies"]["red"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--robot", "1=std_2027_adaptive_2731"], "slot 1 takes"),
        (["--robot", "3=std_2027_rush"], "drives a whole team"),
        (["--robot", "3"], "SLOT=REF"),
        (["--robot", "3=std_2027_adaptive_2731"], "at least"),
        (
            ["--robot", "3=std_2027_adaptive_2731", "--robot", "1=std_2026_adaptive_2612"],
            "one season",
        ),
    ],
)
def test_what_cannot_be_assembled(
    tmp_path: Path, capsys: Any, words: list[str], message: str
) -> None:
    code, _, err = call(capsys, "assemble", "--team-out", "team_x", *words)
    assert code == 2
    assert message in json.loads(err)["message"]
    assert not (tmp_path / "team_x").exists()


# Packed and fetched -----------------------------------------------------------------------------


@pytest.fixture
def packed(tmp_path: Path, capsys: Any) -> Path:
    call(capsys, "new-agent", "packed_one")
    code, report, err = call(
        capsys, "submit", "./packed_one", "--to", "one.arena", "--registry", "league",
        "--trusted-local", "--timeout", "30", "--duration", "1",
    )  # fmt: skip
    assert code == 0, report
    assert [(game["seed"], game["swapped"]) for game in report["results"]] == [
        (0, False), (0, True), (1, False), (1, True),
    ]  # fmt: skip
    assert err.count("game ") == 4
    return tmp_path / "one.arena"


def test_what_was_packed_can_be_fetched_and_played(
    packed: Path, tmp_path: Path, capsys: Any
) -> None:
    told = archive.read_submission(packed.read_bytes(), "one")
    strategy = sources.load(tmp_path / "packed_one")
    assert told["version_hash"] == strategy.version_hash
    assert archive.pack(strategy.folder, told) == packed.read_bytes(), "the same bytes every time"
    code, rows, _ = call(capsys, "strategies", "sync", "--index", "league/index.json")
    assert code == 0
    assert [(row["key"], row["fetched"]) for row in rows] == [("packed_one", True)]
    code, rows, _ = call(capsys, "strategies", "sync", "--index", "league/index.json")
    assert [row["fetched"] for row in rows] == [False]
    found = sources.find("remote:packed_one")
    assert (found.source, found.version_hash) == ("remote", strategy.version_hash)
    (tmp_path / "packed_one").rename(tmp_path / "moved_away")
    assert found == sources.find("packed_one")
    code, rows, _ = call(capsys, "strategies", "list", "--source", "remote")
    assert [row["ref"] for row in rows] == ["remote:packed_one"]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_over_http(packed: Path, served: str, tmp_path: Path, capsys: Any) -> None:
    address = f"{served}/league/index.json"
    code, rows, _ = call(capsys, "strategies", "sync", "--index", address, "--cache", "elsewhere")
    assert code == 0
    assert rows[0]["fetched"]
    assert (tmp_path / "elsewhere" / "packed_one" / "main.py").is_file()
    code, _, err = call(capsys, "strategies", "sync", "--index", f"{served}/missing.json")
    assert code == 2
    assert "404" in json.loads(err.splitlines()[-1])["message"]


def test_an_index_that_lies_is_not_believed(packed: Path, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "league" / "index.json"
    kept = path.read_text()
    for field, value, message in (
        ("size", 10, "has"),
        ("version_hash", "0" * 64, "unpacks to"),
        ("key", "../../outside", "key must be"),
        ("key", "another_key", "holds another key"),
        ("url", "missing.arena", "No such file"),
    ):
        index = json.loads(kept)
        index["strategies"][0][field] = value
        path.write_text(json.dumps(index))
        code, rows, _ = call(capsys, "strategies", "sync", "--index", str(path))
        assert code == 1, field
        assert message in rows[0]["error"]
    assert not (tmp_path / "cache").exists() or not any(
        item for item in (tmp_path / "cache").iterdir() if item.name != "packed_one"
    )
    for text in ("", "[]", '{"format": "other", "strategies": []}', '{"format": 1}'):
        path.write_text(text)
        code, _, err = call(capsys, "strategies", "sync", "--index", str(path))
        assert code == 2, text
        assert json.loads(err)["code"] == "index"


def test_a_strategy_that_breaks_is_not_packed(tmp_path: Path, capsys: Any) -> None:
    call(capsys, "new-agent", "broken_one")
    (tmp_path / "broken_one" / "main.py").write_text("def act(o, s):\n    return {'9': {}}\n")
    code, report, _ = call(
        capsys, "submit", "./broken_one", "--to", "b.arena", "--trusted-local", "--timeout", "30",
    )  # fmt: skip
    assert code == 1
    assert not report["ok"]
    assert not (tmp_path / "b.arena").exists()


# Hostile archives -------------------------------------------------------------------------------


def hostile(entries: list[tuple[Any, bytes]], told: Any = None) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("submission.json", json.dumps(told or {"format": archive.FORMAT}))
        for name, content in entries:
            file.writestr(name, content)
    return body.getvalue()


def link(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


def lying_bomb() -> bytes:
    """An entry that says it is small and unpacks to 60 MB."""
    content = bytearray(hostile([("strategy/main.py", bytes(60_000_000))]))
    size = (60_000_000).to_bytes(4, "little")
    while size in content:
        place = content.index(size)
        content[place : place + 4] = (100).to_bytes(4, "little")
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (hostile([("../outside.py", b"x")]), "leads outside"),
        (hostile([("/strategy/outside.py", b"x")]), "leads outside"),
        (hostile([("strategy/../../outside.py", b"x")]), "leads outside"),
        (hostile([("strategy\\..\\outside.py", b"x")]), "leads outside"),
        (hostile([("other/main.py", b"x")]), "leads outside"),
        (hostile([(link("strategy/main.py"), b"target")]), "is a link"),
        (hostile([("strategy/a.bin", bytes(51_000_000))]), "is too large"),
        (hostile([(f"strategy/{n}.bin", bytes(49_000_000)) for n in range(5)]), "more than 200 MB"),
        (hostile([(f"strategy/{n}.py", b"") for n in range(2_001)]), "at most 2000"),
        (lying_bomb(), "strategy"),
        (b"", "no packed strategy"),
        (b"PK\x03\x04 broken", "no packed strategy"),
    ],
    ids=["up", "root", "up inside", "backslash", "elsewhere", "link", "large", "larger", "many",
         "bomb", "empty", "broken"],
)  # fmt: skip
def test_hostile_archives_write_nothing(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ArenaError) as refused:
        archive.unpack(content, tmp_path / "in" / "strategy", "it")
    assert message in str(refused.value)
    assert not (tmp_path / "in").exists()
    assert not (tmp_path / "outside.py").exists()


def test_what_is_no_submission_is_refused() -> None:
    for content in (b"", b"PK", hostile([], told={"format": "other"}), hostile([], told=[1])):
        with pytest.raises(ArenaError):
            archive.read_submission(content, "it")
    assert manifest.MOST_FILE_BYTES == 50_000_000
    assert registry.FORMAT == "arena-index-v1"
