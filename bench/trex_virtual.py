"""T-Rex in virtual time: whole runs against the time that they stand for."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import thread_time_ns
from typing import Any

from bench.measure import Direct, quiet_collector
from bench.registry import promise
from sysone.trex.answers import Answers
from sysone.trex.ask import Questions
from sysone.trex.baselines import POLICIES, Outcome, play_policy, play_seed
from sysone.trex.decide import Reply
from sysone.trex.latency import Fixed
from sysone.trex.pilot import Pilot
from sysone.trex.recording import Recorder, RecordingFile
from sysone.trex.replay import Replay
from sysone.trex.simulate import Conditions, Identity, simulate
from sysone_core.trex import FPS, FRAME_MS

SECONDS = 60
SEEDS = range(5)
ROUNDS = 5
CONDITIONS = Conditions(
    # An answer a frame: the most questions that a match can have.
    latency=Fixed(FRAME_MS / 2),
    inflight=6,
    guarded=True,
    course="original",
    frames=SECONDS * FPS,
)


class Reader:
    """Answers as the wording says; every question is asked once and then known."""

    name = model = detail = "reader"
    inflight = 1
    usd_per_token = 0.0

    def ask(self, state: str, questions: Questions) -> Reply:
        criteria = questions["action"]["criteria"]
        probabilities = {name: float("Best." in text) for name, text in criteria.items()}
        return Reply({"action": {"probabilities": probabilities}}, self.model, 0, 0.0)

    def close(self) -> None:
        pass


@promise("trex.virtual_model")
def virtual_model() -> Direct:
    answers = Answers("bench", "reader", Reader)

    def play() -> None:
        for seed in SEEDS:
            pilot = simulate(
                Identity("Reader", CONDITIONS.inflight),
                seed,
                CONDITIONS,
                lambda plan: answers.choose(plan, "labeled"),
            )[1]
            survived(pilot)

    play()  # now every question is known
    asked = answers.asked
    taken_s = fastest_s(play)
    if answers.asked != asked or not asked:
        raise AssertionError("a question of the measured runs was not known")
    return Direct(taken_s, len(SEEDS) * SECONDS)


@promise("trex.virtual_baselines")
def virtual_baselines() -> Direct:
    spent = {policy: fastest_s(partial(play_policy, policy, 0, CONDITIONS)) for policy in POLICIES}
    pilot = play_seed("planner_best", 0, CONDITIONS)[1]
    survived(pilot)
    if play_policy("planner_best", 0, CONDITIONS) != Outcome.of(pilot):
        raise AssertionError("the core and the pilot play different matches")
    return Direct(sum(spent.values()), len(spent) * SECONDS)


@promise("trex.record")
def record() -> Direct:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "match.jsonl"
        spent_us = []
        for _ in range(ROUNDS):
            with RecordingFile(path) as file:
                pilot = simulate(
                    Identity("Best", CONDITIONS.inflight),
                    0,
                    CONDITIONS,
                    lambda plan: {plan.best: 1.0},
                    record=file,
                )[1]
            recorder = pilot.recorder
            assert isinstance(recorder, Recorder)
            spent_us.append(recorder.spent_s * 1e6 / CONDITIONS.frames)
            survived(pilot)
        if Replay(path).run().frames != CONDITIONS.frames + 1:
            raise AssertionError("the recording is not the match")
    return Direct(min(spent_us), FRAME_MS * 1000)


def fastest_s(call: Callable[[], Any]) -> float:
    """Processor time of the fastest of a few rounds: other work only ever adds to it."""
    fastest = float("inf")
    with quiet_collector():
        for _ in range(ROUNDS):
            start = thread_time_ns()
            call()
            fastest = min(fastest, (thread_time_ns() - start) / 1e9)
    return fastest


def survived(pilot: Pilot) -> None:
    """Fast and wrong is not fast."""
    if pilot.game.score != 697:
        raise AssertionError(f"a minute without a death scores 697, not {pilot.game.score}")
