"""Write T-Rex questions in the planner's own wording, with the planner's answers.

    python tools/embedded/trex_questions.py --seeds 10000:10400 train.jsonl

Each seed is one course, played by the planner with some random keys in between, so that rare
moments (late jumps, drops, nothing safe) are there too. Every decision is planned under a timing
of its own, from lockstep to slow answers with several requests in flight, and worded in both
prompt styles; equal questions are written once. Evaluation seeds 0 to 999 are refused unless
``--evaluation`` says that the file is for measuring alone.
"""

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

import msgspec

from sysone.runs.atomic import write_bytes
from sysone.systemone.questions import Choice
from sysone.systemone.training.examples import Example
from sysone.trex.ask import PROMPTS, QUESTION, build_question
from sysone.trex.keys import ACTIONS, Action, Held, after
from sysone_core.trex import Game, Plan, Planner, enforce, protect, snapshot

EVALUATION_SEEDS = range(1000)
FRAMES = 5400
RANDOM_KEY_SHARE = 0.15

# (first, gap, period) as the pilot gives them: lockstep, one request, several in flight.
Timing = tuple[tuple[int, int], tuple[int, int], int | None]


def timing(stream: random.Random) -> Timing:
    """A timing that the pilot could have measured."""
    if stream.random() < 0.3:
        frames = stream.choice((1, 2, 3, 4, 6))
        return (0, 0), (frames, frames), None
    latency = stream.choice((0, 1, 1, 2, 3, 6, 12, 18))
    landing = (latency, latency + stream.choice((1, 2, 4, 6)))
    period = stream.choice((None, 2, 4, 6))
    return landing, landing, period


def apply(game: Game, held: Held, action: Action) -> Held:
    """Press what an answer asks for; returns the key that is held afterwards."""
    if action == "jump" and not game.jumping:
        if game.ducking:
            game.release_duck()
        game.press_jump()
    return after(action)


def hold(game: Game, held: Held) -> None:
    """Bring the game's keys in line with the held one, as before every frame."""
    if game.crashed or not game.playing:
        return
    state = snapshot(game, held).trex
    if enforce(state, held) != state:
        if held == "duck":
            game.press_duck()
        else:
            game.release_duck()


def example(plan: Plan, prompt: str, seed: int) -> Example:
    """The question of a plan; right is what the harness counts as agreement."""
    state, questions = build_question(plan, prompt)
    right = [plan.best]
    if plan.airborne and plan.best in ("jump", "run"):
        right = ["jump", "run"]
    harmful = [action for action in ACTIONS if not plan.safe[action]]
    return Example(
        state=state,
        question=msgspec.convert(questions[QUESTION], Choice),
        answer=plan.best,
        right=list(right),
        harmful=harmful if any(plan.safe.values()) else [],
        group=f"trex-{prompt}",
        seed=seed,
    )


def play(seed: int, style: str) -> Iterator[Example]:
    """Questions met in one course."""
    stream = random.Random(f"questions-{seed}-{style}")
    game = Game(seed, "staged" if style == "staged" else "original", scenery=False)
    planner = Planner()
    game.press_jump()
    held: Held = "run"
    wait = 0
    for _ in range(FRAMES):
        if game.crashed:
            while game.crash_ms < 1500:
                game.step()
            game.restart()
            held, wait = "run", 0
        if wait == 0 and game.playing:
            snap = snapshot(game, held)
            plan = planner.plan(snap, *timing(stream))
            for prompt in PROMPTS:
                yield example(plan, prompt, seed)
            action: Action = plan.best
            if stream.random() < RANDOM_KEY_SHARE:
                action = stream.choice(ACTIONS)
                if stream.random() < 0.7:
                    action = protect(snap, action)
            held = apply(game, held, action)
            wait = stream.randint(1, 8)
        wait = max(0, wait - 1)
        hold(game, held)
        game.step()


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", required=True, help="FIRST:END, as in 10000:10400")
    parser.add_argument("--evaluation", action="store_true", help="these are evaluation seeds")
    parser.add_argument("--sample", type=int, help="keep this many, drawn by a fixed stream")
    arguments = parser.parse_args()
    first, end = (int(part) for part in arguments.seeds.split(":"))
    seeds = range(first, end)
    touched = set(seeds) & set(EVALUATION_SEEDS)
    if touched and not arguments.evaluation:
        raise SystemExit(f"--seeds {arguments.seeds}: seeds below 1000 are for evaluation")
    found: dict[bytes, bytes] = {}
    for seed in seeds:
        for item in play(seed, "staged" if seed % 2 else "original"):
            line = msgspec.json.encode(item)
            found.setdefault(msgspec.json.encode((item.state, item.question)), line)
    lines = list(found.values())
    if arguments.sample and arguments.sample < len(lines):
        lines = random.Random(0).sample(lines, arguments.sample)
    write_bytes(arguments.out, b"\n".join(lines) + b"\n")
    print(f"{len(lines)} questions of seeds {first} to {end - 1} in {arguments.out}")


if __name__ == "__main__":
    main()
