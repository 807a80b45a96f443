"""PPO on the fast arena: one file, from random weights to a strategy in a directory.

    python examples/arena_ppo/train.py --out policies/ppo --minutes 10
    rmuc-arena run --red policies/ppo --blue std_2027_random --games 8 --swap-sides

One policy drives every robot of a side alike, from what it sees itself: once a second it says where
to go, what to aim at and what to order. Three quarters of the environments play against rush, in
matches of three lengths, and the rest against random. Needs PyTorch.

The method is that of Schulman et al., "Proximal Policy Optimization Algorithms" (2017), with
generalised advantages (Schulman et al., 2016), in the one-file form that CleanRL made common.
"""

import argparse
import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rmuc_arena.fast import FastVector
from rmuc_arena.sdk.arrays import GOALS, ORDERS
from torch import nn

SEASON = "2027"
OPPONENTS = (("rush", 120), ("rush", 240), ("rush", 420), ("random", 420))  # with seconds
NAMES = tuple(dict.fromkeys(name for name, _ in OPPONENTS))
REPEAT = 20  # ticks of a step
AIMS = ("own", "base", "outpost")
ORDERED = ("none", "buy_much", "revive")
CHOICES = (len(GOALS), len(AIMS), len(ORDERED))
GAMMA, LAMBDA, CLIP, ENTROPY = 0.995, 0.95, 0.2, 0.01
EPOCHS, BATCHES = 4, 4


class Policy(nn.Module):
    """Two layers for all robots: a choice of each kind, and the value of the side's position."""

    def __init__(self, seen: int, width: int = 96) -> None:
        super().__init__()
        self.first = nn.Linear(seen, width)
        self.second = nn.Linear(width, width)
        self.heads = nn.Linear(width, sum(CHOICES))
        self.value = nn.Linear(width, 1)
        for layer, gain in (
            (self.first, 2**0.5), (self.second, 2**0.5), (self.heads, 0.01), (self.value, 1.0),
        ):  # fmt: skip
            nn.init.orthogonal_(layer.weight, gain)
            nn.init.zeros_(layer.bias)

    def forward(self, seen: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
        """Logits of each kind of choice, and values."""
        hidden = torch.tanh(self.second(torch.tanh(self.first(seen))))
        return list(self.heads(hidden).split(CHOICES, -1)), self.value(hidden).squeeze(-1)


def look(fast: FastVector) -> torch.Tensor:
    """What each of red's robots sees: itself, its team, the enemies, the match. [envs][rows][…]."""
    envs, rows = fast.num_envs, fast.rows
    shared = np.concatenate(
        [
            fast.mates[:, 0].reshape(envs, -1),
            fast.enemies[:, 0].reshape(envs, -1),
            fast.globals[:, 0],
        ],
        axis=-1,
    )
    shared = np.repeat(shared[:, None], rows, axis=1)
    return torch.from_numpy(np.concatenate([fast.own[:, 0], shared], axis=-1))


def wish(fast: FastVector, chosen: np.ndarray) -> None:
    """Write choices [envs][rows][3] for the next step."""
    aims = np.array([0, fast.rows + 1, fast.rows + 2])
    orders = np.array([ORDERS.index(name) for name in ORDERED])
    fast.go[:, 0] = chosen[..., 0]
    fast.aim[:, 0] = aims[chosen[..., 1]]
    fast.order[:, 0] = orders[chosen[..., 2]]
    fast.fire[:, 0] = 1


def logs_and_entropy(
    logits: list[torch.Tensor], chosen: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The log-probability of choices, and the entropy."""
    logs, entropy = torch.zeros(()), torch.zeros(())
    for k, kind in enumerate(logits):
        every = kind.log_softmax(-1)
        logs = logs + every.gather(-1, chosen[..., k : k + 1]).squeeze(-1)
        entropy = entropy - (every.exp() * every).sum(-1)
    return logs, entropy


class Field:
    """The environments of all opponents, as one."""

    def __init__(self, envs: int, seed: int) -> None:
        each = max(1, envs // len(OPPONENTS))
        self.parts = [
            FastVector(
                each, 1, season=SEASON, duration=seconds, action_repeat=REPEAT, opponent=bot,
                reward="score", autoreset="same_step", digests=False,
            )
            for bot, seconds in OPPONENTS
        ]  # fmt: skip
        for k, part in enumerate(self.parts):
            first = 1_000_000 * (seed * len(OPPONENTS) + k + 1)
            part.reset(range(first, first + each))

    def look(self) -> torch.Tensor:
        """[envs][rows][columns]."""
        return torch.cat([look(part) for part in self.parts])

    def step(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, list[float]]]:
        """Rewards and ends [envs], and the outcomes of what ended, by opponent."""
        rewards, ends = [], []
        outcomes: dict[str, list[float]] = {name: [] for name in NAMES}
        for (name, _), part, wanted in zip(
            OPPONENTS, self.parts, np.split(chosen, len(self.parts)), strict=True
        ):
            wish(part, wanted)
            part.step()
            ended = (part.terminated | part.truncated).astype(bool)
            rewards.append(part.rewards[:, 0].copy())
            ends.append(ended)
            outcomes[name] += [
                {0: 1.0, 1: -1.0}.get(int(winner), 0.0) for winner in part.winner[ended]
            ]
        return np.concatenate(rewards), np.concatenate(ends), outcomes


def learn(given: argparse.Namespace) -> tuple[Policy, list[dict[str, Any]]]:
    """Train until the minutes or steps are over; the policy and its curve."""
    torch.manual_seed(given.seed)
    torch.set_num_threads(1)
    field = Field(given.envs, given.seed)
    seen = field.look()
    policy = Policy(seen.shape[-1])
    optimiser = torch.optim.Adam(policy.parameters(), lr=given.rate, eps=1e-5)
    begin = time.monotonic()
    curve: list[dict[str, Any]] = []
    recent: dict[str, list[float]] = {name: [] for name in NAMES}
    steps = 0
    envs = len(seen)
    while time.monotonic() - begin < given.minutes * 60 and steps < given.steps:
        rows: list[tuple[torch.Tensor, ...]] = []
        rewards, ends = [], []
        for _ in range(given.rollout):
            with torch.no_grad():
                logits, value = policy(seen)
                chosen = torch.stack(
                    [torch.distributions.Categorical(logits=kind).sample() for kind in logits], -1
                )
                logs, _ = logs_and_entropy(logits, chosen)
            rows.append((seen, chosen, logs, value))
            reward, ended, outcomes = field.step(chosen.numpy())
            rewards.append(torch.from_numpy(reward))
            ends.append(torch.from_numpy(ended))
            for bot, found in outcomes.items():
                recent[bot] = (recent[bot] + found)[-100:]
            seen = field.look()
        steps += given.rollout * envs
        with torch.no_grad():
            following = policy(seen)[1]
        advantages = advantage(
            torch.stack([row[3] for row in rows]), torch.stack(rewards), torch.stack(ends),
            following,
        )  # fmt: skip
        improve(policy, optimiser, rows, advantages)
        curve.append(
            {
                "steps": steps,
                "minutes": round((time.monotonic() - begin) / 60, 3),
                "reward_per_minute": round(float(torch.stack(rewards).mean()) * 1200 / REPEAT, 4),
                **{
                    bot: round(float(np.mean(found)), 3) if found else None
                    for bot, found in recent.items()
                },
            }
        )
        print(json.dumps(curve[-1]), flush=True)
    return policy, curve


def advantage(
    values: torch.Tensor, rewards: torch.Tensor, ends: torch.Tensor, following: torch.Tensor
) -> torch.Tensor:
    """Generalised advantages [steps][envs][rows] of a side's rewards [steps][envs]."""
    found = torch.zeros_like(values)
    carried = torch.zeros_like(following)
    for t in reversed(range(len(values))):
        goes_on = (~ends[t]).float().unsqueeze(-1)
        error = rewards[t].unsqueeze(-1) + GAMMA * following * goes_on - values[t]
        carried = error + GAMMA * LAMBDA * goes_on * carried
        found[t] = carried
        following = values[t]
    return found


def improve(
    policy: Policy,
    optimiser: torch.optim.Optimizer,
    rows: list[tuple[torch.Tensor, ...]],
    advantages: torch.Tensor,
) -> None:
    """Some epochs of the clipped objective."""
    seen, chosen, logs, values = (
        torch.stack(column).flatten(0, 2) for column in zip(*rows, strict=True)
    )
    gained = advantages.flatten()
    returns = gained + values
    alive = torch.nonzero(seen[:, 0] > 0).squeeze(-1)  # who is not there has nothing to learn
    for _ in range(EPOCHS):
        for part in alive[torch.randperm(len(alive))].chunk(BATCHES):
            logits, value = policy(seen[part])
            now, entropy = logs_and_entropy(logits, chosen[part])
            ratio = (now - logs[part]).exp()
            scaled = (gained[part] - gained[part].mean()) / (gained[part].std() + 1e-8)
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            loss = (
                -torch.min(ratio * scaled, clipped * scaled).mean()
                + 0.5 * (value - returns[part]).square().mean()
                - ENTROPY * entropy.mean()
            )
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimiser.step()


def export(policy: Policy, out: Path) -> None:
    """The policy as a strategy: its weights beside the code that plays them."""
    out.mkdir(parents=True, exist_ok=True)
    here = Path(__file__).parent / "strategy"
    for name in ("arena.toml", "main.py"):
        shutil.copyfile(here / name, out / name)
    weights = {
        name: value.numpy().astype(np.float32)
        for name, value in policy.state_dict().items()
        if not name.startswith("value")
    }
    np.savez(out / "policy.npz", **weights)


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="directory of the strategy")
    parser.add_argument("--minutes", type=float, default=12, help="wall time to train for")
    parser.add_argument("--steps", type=int, default=10**9, help="steps to train for at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--envs", type=int, default=48)
    parser.add_argument("--rollout", type=int, default=40, help="steps between improvements")
    parser.add_argument("--rate", type=float, default=7e-4, help="learning rate")
    parser.add_argument("--curve", type=Path, help="also write the learning curve, JSON lines")
    given = parser.parse_args()
    policy, curve = learn(given)
    export(policy, given.out)
    if given.curve is not None:
        given.curve.write_text("".join(json.dumps(row) + "\n" for row in curve))


if __name__ == "__main__":
    main()
