"""``rmuc-arena``: JSON out, one clear line for a mistake, and replays that verify."""

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arena import minds
from sysone.arena import cli

ROOT = Path(__file__).parents[2]
PLAY = ["match", "--trusted-local", "--timeout", "5", "--startup-timeout", "60"]


def rmuc(*arguments: str, code: int = 0, cwd: Path | None = None) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "rmuc_arena", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "100"},
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


def call(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    """The command in this process."""
    with pytest.raises(SystemExit) as left:
        cli.main(list(arguments))
    out, err = capsys.readouterr()
    code = left.value.code
    assert isinstance(code, int)
    return code, out, err


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replay") / "match.json"
    out, err = rmuc(
        *PLAY, "--red", "std_2027_rush", "--blue", "std_2027_hold", "--duration", "20",
        "--seed", "9007199254740993", "--output", str(path),
    )  # fmt: skip
    result = json.loads(out)
    assert out.count("\n") == 1, "one line on stdout"
    assert result["status"] == "ok", result
    assert result["seed"] == 9007199254740993
    assert result["replay"] == path.name
    assert (path.with_suffix(".run") / "summary.json").is_file()
    assert "without isolation" in err
    assert {"simulate_s", "strategies_json_s"} <= set(result["shares"])
    return path


def test_the_replay_verifies(replay: Path, capsys: Any) -> None:
    code, out, _ = call(capsys, "replay", "verify", str(replay))
    report = json.loads(out)
    assert code == 0
    assert report["ok"]
    assert report["ticks"] == 400
    assert report["first_mismatch"] is None
    assert report["fingerprint_match"]
    assert report["ticks_per_s"] > 0


def change(replay: Path, folder: Path, edit: Any) -> Path:
    data = json.loads(replay.read_text())
    edit(data)
    path = folder / "changed.json"
    path.write_text(json.dumps(data))
    return path


def first_mismatch(path: Path, capsys: Any) -> int:
    code, out, _ = call(capsys, "replay", "verify", str(path))
    report = json.loads(out)
    assert code == 1
    assert not report["ok"]
    tick = report["first_mismatch"]["tick"]
    assert isinstance(tick, int)
    return tick


def test_tampering_is_found_at_its_tick(replay: Path, tmp_path: Path, capsys: Any) -> None:
    def action(data: Any) -> None:
        entry = next(a for a in data["actions"] if a[0] >= 100 and a[1] == "r")
        wanted.append(entry[0])
        entry[2] = {"3": {"spin": 0.123}}

    def digest(data: Any) -> None:
        raw = bytearray(base64.b64decode(data["tick_digests"]))
        raw[8 * 137] ^= 1
        data["tick_digests"] = base64.b64encode(raw).decode()

    def seed(data: Any) -> None:
        data["seed"] = 4

    def setting(data: Any) -> None:
        data["settings"] = {"base_hp": 4999}

    wanted: list[int] = []
    assert first_mismatch(change(replay, tmp_path, action), capsys) == wanted[0]
    assert first_mismatch(change(replay, tmp_path, digest), capsys) == 137
    assert first_mismatch(change(replay, tmp_path, seed), capsys) == 0
    assert first_mismatch(change(replay, tmp_path, setting), capsys) == 0


def test_another_engines_replay_needs_force(replay: Path, tmp_path: Path, capsys: Any) -> None:
    path = change(replay, tmp_path, lambda d: d["fingerprints"].update(engine="other"))
    code, out, _ = call(capsys, "replay", "verify", str(path))
    assert code == 1
    assert not json.loads(out)["fingerprint_match"]
    code, out, _ = call(capsys, "replay", "verify", "--force", str(path))
    assert code == 0
    assert json.loads(out)["ok"]


def test_broken_replays_are_named(tmp_path: Path, capsys: Any) -> None:
    for content in (b"", b"{}", b'{"format":"other"}', b"\x1f\x8b broken"):
        path = tmp_path / "broken.json"
        path.write_bytes(content)
        code, out, err = call(capsys, "replay", "verify", str(path))
        assert (code, out) == (2, "")
        assert "broken.json" in json.loads(err)["message"]


def test_info_show_export(replay: Path, tmp_path: Path, capsys: Any) -> None:
    _, out, _ = call(capsys, "replay", "info", str(replay))
    info = json.loads(out)
    assert info["ticks"] == 400
    assert info["seed"] == "9007199254740993"
    _, out, _ = call(capsys, "replay", "show", str(replay), "--at", "12.5")
    assert json.loads(out)["tick"] == 250
    _, out, _ = call(capsys, "replay", "export", str(replay))
    rows = [json.loads(line) for line in out.splitlines()]
    assert len(rows) == 101 * 10
    assert rows[0] == {**rows[0], "tick": 0, "team": 0, "slot": 1, "x": 4175, "y": 7525}
    assert rows[-1]["tick"] == 400
    _, out, _ = call(capsys, "replay", "export", str(replay), "--format", "csv")
    assert out.splitlines()[0].startswith("tick,team,slot,x,y")
    npz = tmp_path / "frames.npz"
    code, _, _ = call(
        capsys, "replay", "export", str(replay), "--format", "npz", "--output", str(npz)
    )
    assert code == 0
    assert npz.is_file()


def test_the_same_match_has_the_same_digest(replay: Path) -> None:
    out, _ = rmuc(
        *PLAY, "--red", "std_2027_rush", "--blue", "std_2027_hold", "--duration", "20",
        "--seed", "9007199254740993",
    )  # fmt: skip
    result, summary = map(json.loads, out.splitlines())
    assert (summary["type"], summary["wins"]) == ("summary", 1)
    assert result["digest"] == json.loads(replay.read_text())["digest"]


def test_a_match_in_one_process_has_the_same_digests(replay: Path) -> None:
    recorded = json.loads(replay.read_text())
    game = minds.played("std_2027_rush", "std_2027_hold", 9007199254740993, 20)
    assert game.digest == recorded["digest"]
    assert game.result() == {k: recorded["result"][k] for k in game.result()}


def test_settings(capsys: Any) -> None:
    _, out, _ = call(capsys, "settings", "--season", "2027", "--sources")
    report = json.loads(out)
    rows = report["settings"]
    assert len(rows) > 300
    assert set(report["tags"]) == {"R", "P", "T", "A"}
    assert {row["source"] for row in rows} == {"R", "P", "T", "A"}
    assert all(row["about"] for row in rows)
    _, out, _ = call(capsys, "settings", "--season", "2026")
    assert json.loads(out)["base_hp"] == 5000
    _, out, _ = call(capsys, "settings", "--schema")
    schema = json.loads(out)
    assert schema["$schema"].endswith("2020-12/schema")
    assert schema["properties"]["base_hp"]["x-source"] == "R"
    assert schema["additionalProperties"] is False
    _, out, _ = call(capsys, "settings", "--diff", '{"base_hp": 4000, "outpost_hp": 1500}')
    assert json.loads(out) == [{"key": "base_hp", "default": 5000, "value": 4000}]


def test_models(capsys: Any) -> None:
    _, out, _ = call(capsys, "models", "--season", "2026", "--role", "infantry")
    assert [row["model"] for row in json.loads(out)] == [2631, 2632, 2633, 2634]
    _, out, _ = call(capsys, "models", "--model", "2711")
    heavy = json.loads(out)
    assert heavy["hp"] == [400, 400, 600, 600]
    _, out, _ = call(capsys, "models", "--slot", "7")
    assert {row["role"] for row in json.loads(out)} == {"sentry"}


def test_strategies(capsys: Any) -> None:
    _, out, _ = call(capsys, "strategies", "list", "--season", "2026", "--mode", "robot")
    assert {row["model"] for row in json.loads(out)} == {2612, 2631, 2671}
    _, out, _ = call(capsys, "strategies", "list", "--search", "claude_opus55_xhigh_2027_team")
    assert [row["key"] for row in json.loads(out)] == ["std_2027_team"]
    _, out, _ = call(capsys, "strategies", "show", "example_minimal")
    assert {row["path"] for row in json.loads(out)["files"]} == {
        "README.md",
        "arena.toml",
        "main.py",
    }


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["match", "--nonsense"], "usage", "nonsense"),
        (["match", "--trusted-local", "--season", "2028"], "usage", "2028"),
        (["match", "--trusted-local", "--seed", "-1"], "usage", "seed"),
        (["match", "--trusted-local", "--duration", "0.25"], "usage", "duration"),
        (["match", "--trusted-local", "--red", "nobody_here"], "strategy", "nobody_here"),
        (["match", "--trusted-local", "--settings", '{"gold": 1}'], "settings", "gold"),
        (["match", "--trusted-local", "--settings", '{"base_hp": -1}'], "settings", "base_hp"),
        (["match", "--trusted-local", "--settings", '{"base_hp": "x"}'], "settings", "base_hp"),
        (["match", "--trusted-local", "--lineup", "[1]"], "lineup", "slot"),
        (["match", "--trusted-local", "--mode", "deck"], "usage", "red-deck"),
        (["match", "--trusted-local", "--red-deck", "[]"], "usage", "deck"),
        (
            ["match", "--trusted-local", "--red", "std_2026_hold", "--season", "2027"],
            "usage",
            "2026",
        ),
        (["match", "--trusted-local", "--red", "std_2027_adaptive_2731"], "usage", "deck"),
        (["settings", "--season", "2025"], "usage", "2025"),
        (["models", "--model", "1"], "usage", "1"),
        (["replay", "info", "missing.json"], "replay", "missing.json"),
    ],
)
def test_mistakes_are_one_line_on_stderr(
    capsys: Any, arguments: list[str], code: str, words: str
) -> None:
    exit_code, out, err = call(capsys, *arguments)
    assert (exit_code, out) == (2, "")
    line = json.loads(err.splitlines()[-1])
    assert (line["type"], line["code"]) == ("error", code)
    assert words in line["message"]


def test_without_isolation_a_match_must_be_trusted(
    capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sysone.arena.isolation.bubblewrap.unavailable", lambda: "no bwrap")
    monkeypatch.setattr("sysone.arena.isolation.docker.unavailable", lambda image: "no docker")
    for command in (["match"], ["validate", "example_minimal"]):
        code, out, err = call(capsys, *command)
        assert (code, out) == (4, "")
        error = json.loads(err)
        assert error["code"] == "isolation"
        assert "no bwrap; no docker" in error["message"]
        assert "--trusted-local" in error["message"]


def test_an_output_that_exists_is_left_alone(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "there.json"
    path.write_text("mine")
    code, _, err = call(capsys, "match", "--trusted-local", "--output", str(path))
    assert code == 3
    assert json.loads(err.splitlines()[-1])["code"] == "output_exists"
    assert path.read_text() == "mine"


def test_the_alias_is_the_package_itself() -> None:
    import rmuc_arena.lineup
    import rmuc_arena.rules.settings

    import sysone.arena.lineup
    import sysone.arena.rules.settings

    assert rmuc_arena.lineup is sysone.arena.lineup
    assert rmuc_arena.rules.settings is sysone.arena.rules.settings
    # and stays what it was: its own name, its own package data
    assert sysone.arena.rules.__spec__ is not None
    assert sysone.arena.rules.__spec__.name == "sysone.arena.rules"
    assert sysone.arena.rules.settings.data("field.json")


def test_the_manuals_first_strategy_from_an_empty_folder(tmp_path: Path) -> None:
    """The tutorial's blocks: two files, then commands, as they are printed."""
    page = (ROOT / "docs" / "arena.md").read_text()
    tutorial = page[page.index("## A first strategy") :]
    tutorial = tutorial[: tutorial.index("\n## ", 5)]
    blocks = re.findall(r"```(\w+)[^\n]*\n(.*?)```", tutorial, re.DOTALL)
    toml, python, shell = (body for _, body in blocks[:3])
    assert [kind for kind, _ in blocks[:3]] == ["toml", "python", "sh"]
    assert len([line for line in python.splitlines() if line.strip()]) <= 15
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "arena.toml").write_text(toml)
    (tmp_path / "mine" / "main.py").write_text(python)
    outputs = []
    for line in shell.strip().splitlines():
        words = line.split("#")[0].split()
        assert words[0] == "rmuc-arena"
        more = ["--timeout", "5"] if words[1] in ("match", "validate") else []
        out, _ = rmuc(*words[1:], *more, cwd=tmp_path)
        outputs.append(json.loads(out))
    assert outputs[0]["ok"], outputs[0]
    assert outputs[1]["status"] == "ok"
    assert outputs[2]["ok"]
    assert outputs[2]["ticks"] == outputs[1]["ticks"]
