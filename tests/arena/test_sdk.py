"""Strategies in their processes: budgets, faults, manifests, sources."""

from pathlib import Path
from typing import Any

import pytest

from sysone.arena import lineup, manifest, match, sources, validation
from sysone.arena import replay as replays
from sysone.arena.engine import Setup
from sysone.arena.errors import ArenaError
from sysone.arena.isolation.base import TrustedLocal

HEAD = """[strategy]
key = "{key}"
name = "Test"
version = "1"
season = "2027"
mode = "team"
entry = "main:{entry}"
sdk = 1
"""
PATIENT = match.Limits(timeout_s=5.0, startup_s=60.0)


def write(folder: Path, body: str, entry: str = "act", key: str = "test_one") -> sources.Strategy:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "arena.toml").write_text(HEAD.format(key=key, entry=entry))
    (folder / "main.py").write_text(body)
    return sources.load(folder)


def play(
    strategy: sources.Strategy, limits: match.Limits = PATIENT, seconds: float = 1, **more: Any
) -> match.Played:
    line = lineup.default("2027")
    setup = Setup("2027", 1, {"red": line, "blue": line}, duration_s=seconds)
    other = sources.find("bundled:example_minimal")
    sides = {"red": match.Side("team", {0: strategy}), "blue": match.Side("team", {0: other})}
    return match.play(setup, sides, limits, **more)  # type: ignore[arg-type]


def red(played: match.Played) -> dict[str, Any]:
    found: dict[str, Any] = played.result["strategies"]["red"]
    return found


def test_setup_reset_teardown_and_private_state(tmp_path: Path) -> None:
    body = f"""
from pathlib import Path
log = []
def setup(info): log.append("setup " + info["team"])
def reset(info): log.append(f"reset {{sorted(info)}} {{info['slots']}} {{info['seed_hint']}}")
def teardown(): Path({str(tmp_path / "log")!r}).write_text("\\n".join(log))
def act(observation, state):
    print("to the log")
    state["n"] = state.get("n", 0) + 1
    log.append(f"act {{observation['tick']}} {{state['n']}}")
    return {{}}
"""
    played = play(write(tmp_path / "s", body), log_folder=tmp_path / "logs")
    assert played.result["status"] == "ok", red(played)
    assert red(played)["decisions"] == 10
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines[0] == "setup red"
    assert "'settings', 'slots', 'static', 'team'" in lines[1]
    assert "[1, 3, 4, 6, 7]" in lines[1]
    assert lines[2:] == [f"act {2 * k} {k + 1}" for k in range(10)]
    assert "to the log" in (tmp_path / "logs" / "red.log").read_text()


def test_a_class_may_be_the_entry(tmp_path: Path) -> None:
    body = """
class Mind:
    def reset(self, info): self.team = info["team"]
    def act(self, observation, state): return {"3": {"move": [1 if self.team == "red" else -1, 0]}}
"""
    assert play(write(tmp_path, body, "Mind")).result["status"] == "ok"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("def act(o, s): raise RuntimeError('no idea')", "exception"),
        ("def act(o, s): return {'3': object()}", "bad_reply"),
        ("def act(o, s): return {'3': {'jump': 1}}", "unknown_field"),
        ("def act(o, s): return [1]", "not_object"),
        ("def act(o, s): return {'3': {'move': [float('nan'), 0]}}", "not_finite"),
        ("def act(o, s): return {'blue-3': {}}", "not_own_robot"),
        ("def act(o, s): raise MemoryError", "memory"),
    ],
)
def test_faults_are_counted_and_the_robots_hold(tmp_path: Path, body: str, code: str) -> None:
    played = play(write(tmp_path, body))
    assert played.result["status"] == "strategy_error"
    assert red(played)["errors"] == {code: 10}
    assert red(played)["first_errors"][0]["code"] == code
    assert len(red(played)["first_errors"]) == 5
    assert played.result["ticks"] == 20
    assert played.result["strategies"]["blue"]["errors"] == {}


def test_a_process_that_ends_is_crashed_once(tmp_path: Path) -> None:
    played = play(write(tmp_path, "import os\ndef act(o, s): os._exit(3)"))
    assert red(played)["errors"] == {"crashed": 1}
    assert played.result["ticks"] == 20


def test_late_answers_are_timeouts_and_are_thrown_away(tmp_path: Path) -> None:
    body = """
import time
def act(observation, state):
    if observation["tick"] == 4:
        time.sleep(1.2)
        return {"3": {"jump": 1}}
    return {}
"""
    played = play(write(tmp_path, body), match.Limits(timeout_s=0.5, startup_s=60), seconds=2)
    errors = red(played)["errors"]
    # the decision itself and those that waited for its answer, which came and was not used
    assert set(errors) == {"timeout"}
    assert errors["timeout"] >= 3
    assert played.result["status"] == "strategy_error"


def test_a_strategy_that_never_answers_is_killed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sysone.arena.player.DEAD_AFTER_S", 0.5)
    body = "import time\ndef act(o, s): time.sleep(1000)"
    played = play(write(tmp_path, body), match.Limits(timeout_s=0.2, startup_s=60))
    errors = red(played)["errors"]
    assert errors["strategy_dead"] == 1
    assert errors["timeout"] < 10
    assert played.result["ticks"] == 20


@pytest.mark.parametrize("body", ["raise ImportError('gone')", "x = 1"])
def test_a_strategy_that_does_not_load_fails_the_match(tmp_path: Path, body: str) -> None:
    played = play(write(tmp_path, body))
    assert played.result["status"] == "failed"
    assert played.result["error"]["code"] == "startup"


def test_a_slow_start_fails_the_match(tmp_path: Path) -> None:
    played = play(write(tmp_path, "import time\ntime.sleep(60)"), match.Limits(startup_s=0.3))
    assert played.result["error"]["code"] == "startup"


def test_robot_strategies_drive_a_deck(tmp_path: Path) -> None:
    found = {1: sources.find("std_2027_adaptive_2731"), 2: sources.find("std_2027_adaptive_2771")}
    line = {1: 2731, 2: 2771}
    setup = Setup("2027", 1, {"red": line, "blue": line}, "deck", duration_s=3)
    side = match.Side("individual", found)
    path = tmp_path / "deck.json.gz"
    played = match.play(setup, {"red": side, "blue": side}, PATIENT, record=path)
    assert played.result["status"] == "ok", played.result["strategies"]
    assert [row["slot"] for row in red(played)["deck"]] == [1, 2]
    assert played.result["replay"] == str(path)
    assert replays.read(path).control == {"red": "individual", "blue": "individual"}
    assert replays.verify(path)["ok"]
    assert [file.name for file in tmp_path.iterdir()] == ["deck.json.gz"]


def test_manifests_are_checked(tmp_path: Path) -> None:
    good = HEAD.format(key="test_one", entry="act")

    def refused(text: str) -> str:
        (tmp_path / "arena.toml").write_text(text)
        with pytest.raises(ArenaError) as caught:
            manifest.read(tmp_path)
        return str(caught.value)

    assert "strategy.key" in refused(good.replace("test_one", "No"))
    assert "season" in refused(good.replace("2027", "2028"))
    assert "entry" in refused(good.replace("main:act", "main"))
    assert "sdk" in refused(good.replace("sdk = 1", "sdk = 2"))
    assert "colour" in refused(good + "colour = 1\n")
    assert "[robot]" in refused(good.replace('"team"', '"robot"'))
    assert "[robot]" in refused(good + "[robot]\nmodel = 2731\n")
    roster = "[roster]\nrobots = [{slot = 1, model = 2731}]\n"
    assert "slot 1 takes a heavy" in refused(good + roster)
    (tmp_path / "arena.toml").unlink()
    with pytest.raises(ArenaError, match=r"arena\.toml"):
        manifest.read(tmp_path)


def test_the_version_hash_follows_every_file(tmp_path: Path) -> None:
    first = write(tmp_path / "s", "def act(o, s): return {}").version_hash
    (tmp_path / "s" / "__pycache__").mkdir()
    (tmp_path / "s" / "__pycache__" / "x.pyc").write_bytes(b"1")
    assert manifest.version_hash(tmp_path / "s") == first
    (tmp_path / "s" / "notes.txt").write_text("more")
    assert manifest.version_hash(tmp_path / "s") != first
    (tmp_path / "s" / "out").symlink_to(tmp_path)
    with pytest.raises(ArenaError, match="outside"):
        manifest.version_hash(tmp_path / "s")


def test_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path))
    assert sources.find("std_2027_hold").source == "bundled"
    assert sources.find("claude_opus55_xhigh_2027_rush").key == "std_2027_rush"
    assert "alias" in capsys.readouterr().err
    write(tmp_path / "strategies" / "mine", "def act(o, s): return {}", key="std_2027_hold")
    with pytest.raises(ArenaError, match="names different strategies"):
        sources.find("std_2027_hold")
    assert sources.find("local:std_2027_hold").source == "local"
    with pytest.raises(ArenaError, match="no strategy is named"):
        sources.find("std_2027_nobody")
    assert sources.find(str(tmp_path / "strategies" / "mine")).source == "path"


BUNDLED = [row["key"] for row in sources.listing(source="bundled")]


def test_every_bundled_strategy_is_there() -> None:
    wanted = {f"std_{s}_{k}" for s in ("2026", "2027") for k in ("hold", "rush", "team")}
    wanted |= {"std_2027_econ", "std_2027_random", "example_minimal"}
    wanted |= {f"std_2027_adaptive_{m}" for m in (2711, 2731, 2732, 2733, 2734, 2771, 2772)}
    wanted |= {f"std_2026_adaptive_{m}" for m in (2612, 2631, 2671)}
    assert set(BUNDLED) == wanted
    for key in BUNDLED:
        assert (sources.bundled_folder() / key / "README.md").is_file()


ROBOTS = [key for key in BUNDLED if "_adaptive_" in key]
# One of each plan is validated as users do it; the others of the same plan play in decks below.
VALIDATED = [key for key in BUNDLED if key not in ROBOTS] + ["std_2027_adaptive_2711"]


@pytest.mark.parametrize("key", VALIDATED)
def test_bundled_strategies_play_without_an_error(key: str) -> None:
    report = validation.validate(
        f"bundled:{key}", self_play_s=1.0, timeout_s=5.0, isolation=TrustedLocal()
    )
    assert report["ok"], report


@pytest.mark.parametrize(
    ("season", "decks"),
    [("2026", [[2612, 2631, 2671]]), ("2027", [[2711, 2731, 2732, 2771], [2733, 2734, 2772]])],
)
def test_bundled_robot_strategies_play_in_decks(season: Any, decks: list[list[int]]) -> None:
    assert {f"std_{season}_adaptive_{m}" for deck in decks for m in deck} == {
        key for key in ROBOTS if season in key
    }
    sides = []
    for deck in (decks[0], decks[-1]):
        found = {k: sources.find(f"std_{season}_adaptive_{m}") for k, m in enumerate(deck, 1)}
        assert all(one.manifest.robot.model == deck[k - 1] for k, one in found.items())  # type: ignore[union-attr]
        sides.append((dict(enumerate(deck, 1)), match.Side("individual", found)))
    (red_line, red_side), (blue_line, blue_side) = sides
    setup = Setup(season, 1, {"red": red_line, "blue": blue_line}, "deck", duration_s=3)
    played = match.play(setup, {"red": red_side, "blue": blue_side}, PATIENT)
    assert played.result["status"] == "ok", played.result["strategies"]
