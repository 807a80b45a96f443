"""The pilot's parts against recorded tables."""

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from sysone.trex.decide import Timing, checked, choose
from sysone.trex.keys import ACTIONS
from sysone.trex.notices import Notices
from sysone.trex.pacer import Pacer
from sysone.trex.pilot import Pilot, changes_keys
from sysone.trex.question import Decision, View
from sysone.trex.score import percentile
from sysone.trex.timing import LandingTimes
from sysone_core.trex import FRAME_MS, Game, snapshot
from trex.players import Nobody

Golden = Callable[[str, str], Any]


@pytest.fixture
def units(golden: Golden) -> dict[str, Any]:
    data: dict[str, Any] = golden("trex", "pilot_units.json.gz")
    assert data["actions"] == list(ACTIONS)
    return data


def pilot(inflight: int = 1, lockstep: int | None = None) -> Pilot:
    return Pilot(Nobody(inflight=inflight), clock=lambda: 0.0, lockstep=lockstep)


def question_of(seq: int, **fields: Any) -> Decision:
    return Decision(seq, snapshot(Game(0)), Timing((1, 1), (1, 1)), **fields)


def as_lists(timing: Timing) -> list[Any]:
    return [list(timing.first), list(timing.gap), timing.period]


def test_timing(units: dict[str, Any]) -> None:
    table = units["timing"]
    for sequence in table["sequences"]:
        times = LandingTimes(sequence["inflight"])
        times.start_from(sequence["warm_ms"])
        assert [
            times.latency_frames,
            times.typical_frames,
            times.interval_frames,
            times.jitter_frames,
            times.stagger,
            times.longest_wait,
            as_lists(times.timing()),
        ] == sequence["after_warm"]
        for latency, frame, ask_gap, estimates, stagger, longest_wait, timing in sequence["steps"]:
            if ask_gap is not None:
                times.ask_gaps.append(ask_gap)
            times.observe(latency, frame)
            assert [
                times.latency_frames,
                times.typical_frames,
                times.jitter_frames,
                times.interval_frames,
                len(times.observed),
            ] == estimates
            assert times.stagger == stagger
            assert times.longest_wait == longest_wait
            assert as_lists(times.timing()) == timing
    assert as_lists(LandingTimes(1, lockstep=6).timing()) == table["lockstep6"]


def test_premise(units: dict[str, Any]) -> None:
    for accepted, epoch, bump_seq, dropped, actions, question, holds in units["premise"]["cases"]:
        player = pilot()
        player.accepted = accepted
        player.epoch = epoch
        player.bump_seq = bump_seq
        player.dropped.extend(dropped)
        player.accepted_actions = dict(actions)
        seq, asked_epoch, pending_seq, pending = question
        decision = question_of(seq, epoch=asked_epoch, pending_seq=pending_seq, pending=pending)
        assert player.premise_holds(decision) is holds


def test_changes_keys(units: dict[str, Any]) -> None:
    for jumping, held, action, result in units["changes_keys"]["cases"]:
        assert changes_keys(jumping, held, action) is result


def test_when_a_question_may_be_asked(units: dict[str, Any]) -> None:
    moment = snapshot(Game(0))
    for row in units["next_view"]["cases"]:
        inflight, lockstep, frame, applied, typical, last_asked, finished, expected = row
        player = pilot(inflight, lockstep)
        player.view = View(frame, moment, run=0, applied=applied, epoch=0)
        player.times.typical_frames = typical
        player.last_asked = last_asked
        player.finished = deque([question_of(seq, executed="run") for seq in finished], maxlen=16)
        question = player.next_question()
        assert [
            question is not None,
            question.pending_seq if question is not None else None,
            list(player.times.ask_gaps),
        ] == expected


def test_pacer(units: dict[str, Any]) -> None:
    table = units["pacer"]
    for run in table["runs"]:
        clock = iter([run["start"], *(row[0] for row in run["rows"])])
        pacer = Pacer(clock.__next__, limit=table["limit"])
        for _, paused, steps, owed_ms, dropped_ms in run["rows"]:
            assert pacer.frames(paused) == steps
            assert pacer.owed_ms == owed_ms
            assert pacer.dropped_ms == dropped_ms


def test_percentile(units: dict[str, Any]) -> None:
    for values, p50, p95 in units["percentile"]["cases"]:
        assert percentile(values, 0.50) == p50
        assert percentile(values, 0.95) == p95


def test_choice_of_the_action(units: dict[str, Any]) -> None:
    for probabilities, safe, best, airborne, guarded, expected in units["think"]["cases"]:
        labels = dict(zip(ACTIONS, map(bool, safe), strict=True))
        assert list(choose(probabilities, labels, best, airborne, guarded)) == expected


def test_probability_check(units: dict[str, Any]) -> None:
    for given, expected in units["checked"]:
        if "error" in expected:
            with pytest.raises(ValueError, match="invalid probability") as refused:
                checked(given)
            assert str(refused.value) == expected["message"]
        else:
            assert checked(given) == expected


def test_notices(units: dict[str, Any]) -> None:
    for rows in units["notices"]["runs"]:
        notices = Notices()
        for frame, text, event, event_frame, query_frame, shown in rows:
            notices.note(frame, text)
            assert notices.event == event
            assert notices.event_frame == event_frame
            assert notices.shown(query_frame) == shown


def test_warm_up_estimates_are_in_frames() -> None:
    times = LandingTimes(6)
    times.start_from([3 * FRAME_MS])
    assert times.typical_frames == 3.0
