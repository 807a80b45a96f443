"""The PPO example: it runs, what it learnt is what its strategy plays, and it packs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sysone.arena import match as matches
from sysone.arena import sources
from sysone.arena.agents.submit import submit
from sysone.arena.engine import TEAMS, Game, Setup, static
from sysone.arena.isolation.base import TrustedLocal
from sysone.arena.lineup import default
from sysone.arena.sdk.host import load

pytestmark = pytest.mark.learn
torch = pytest.importorskip("torch")

EXAMPLE = Path(__file__).parents[2] / "examples" / "arena_ppo"
LIMITS = matches.Limits(timeout_s=60, startup_s=120)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("ppo")
    out, curve = folder / "policy", folder / "curve.jsonl"
    done = subprocess.run(
        [
            *(sys.executable, str(EXAMPLE / "train.py"), "--out", str(out), "--curve", str(curve)),
            *("--envs", "8", "--rollout", "30", "--steps", "480", "--seed", "3"),
        ],
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == curve.read_text()
    return out, [json.loads(line) for line in done.stdout.splitlines()]


def test_it_writes_a_curve_and_a_strategy(trained: tuple[Path, list[dict[str, Any]]]) -> None:
    out, curve = trained
    assert [row["steps"] for row in curve] == [240, 480]
    assert sources.find(str(out)).key == "ppo_2027"


def test_the_strategy_plays_a_match_and_packs(
    trained: tuple[Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    out, _ = trained
    packed = submit(
        str(out), tmp_path / "ppo.arena", isolation=TrustedLocal(), limits=LIMITS, duration_s=4.0
    )
    assert packed["ok"], packed
    assert [row["status"] for row in packed["results"]] == ["ok"] * 4


def test_the_strategy_chooses_what_the_network_does(
    trained: tuple[Path, list[dict[str, Any]]],
) -> None:
    out, _ = trained
    _, module = load(str(out), "main:act")
    line = default("2027")
    game = Game(Setup("2027", 1, dict.fromkeys(TEAMS, line), duration_s=10))
    module.reset(
        {
            "team": "blue",
            "season": "2027",
            "slots": sorted(line),
            "models": {str(slot): model for slot, model in line.items()},
            "settings": game.book.settings,
            "static": static(game.book),
        }
    )
    weights = {name: torch.from_numpy(value) for name, value in np.load(out / "policy.npz").items()}
    state: dict[str, Any] = {}
    while not game.ended:
        observation = json.loads(game.observe("blue"))
        action = module.act(observation, state)
        assert game.act("blue", json.dumps(action)) is None
        if game.tick % 20 == 0:
            seen = module._arrays.observe(observation)
            shared = [seen[name].ravel() for name in ("mates", "enemies", "globals")]
            rows = np.stack([np.concatenate([own, *shared]) for own in seen["own"]])
            hidden = torch.from_numpy(rows)
            for name in ("first", "second"):
                linear = torch.nn.functional.linear
                hidden = linear(hidden, weights[f"{name}.weight"], weights[f"{name}.bias"]).tanh()
            logits = torch.nn.functional.linear(
                hidden, weights["heads.weight"], weights["heads.bias"]
            )
            wanted = [part.argmax(-1).numpy() for part in logits.split(module.CHOICES, -1)]
            assert (state["chosen"] == np.stack(wanted, -1)).all()
        game.advance()
