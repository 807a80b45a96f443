"""Runs of many games: their order and identity, the scheduler, summaries, and resuming."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sysone.arena.batch.jobs import Job, jobs_of, read_jobs
from sysone.arena.batch.options import Options, resolve
from sysone.arena.batch.scheduler import Scheduler
from sysone.arena.batch.store import RefusedError, Store, is_used, stored
from sysone.arena.batch.summary import latest, summarise, wilson
from sysone.arena.batch.worker import Assignment
from sysone.arena.errors import ArenaError
from sysone.arena.isolation.base import TrustedLocal
from sysone.executors import Finished
from sysone.runs import jsonl
from sysone.runs.interrupts import Interrupts

PAIR = {"red": "std_2027_rush", "blue": "std_2027_hold", "isolation": "none", "workers": 2}


def line(item: Assignment, status: str = "ok", outcome: str | None = "win") -> dict[str, Any]:
    job = item.job
    return {
        "type": "result",
        "index": job.index,
        "job_id": job.job_id,
        "attempt": item.attempt,
        "seed": job.seed,
        "swapped": job.swapped,
        "status": status,
        "outcome": outcome,
        "error": None,
    }


class Script:
    """An executor that plays nothing: seeds end as they are told to, the newest first."""

    def __init__(self, endings: Mapping[int, str], slots: int = 2, press: Any = None) -> None:
        self.slots = slots
        self.endings = endings
        self.press = press
        self.items: dict[int, Assignment] = {}
        self.begun: list[int] = []
        self.stopped = self.killed = self.closed = 0

    @property
    def running(self) -> int:
        return len(self.items)

    def submit(self, place: int, item: Assignment) -> None:
        assert self.running < self.slots
        self.begun.append(place)
        self.items[place] = item

    def wait(self, timeout_s: float) -> list[Finished]:
        if self.press is not None and len(self.begun) >= self.press.after:
            self.press.interrupts.count += 1
            self.press.interrupts.number = 2
            self.press.after = 10**9
        for place in sorted(self.items, reverse=True):
            item = self.items[place]
            ending = self.endings.get(item.job.seed, "ok")
            if ending == "hangs" or (ending.endswith("told") and not self.stopped):
                continue
            del self.items[place]
            if ending.startswith("lost"):
                return [Finished(place, error="its process ended, by SIGKILL")]
            if ending == "until told":
                return [Finished(place, line(item, "interrupted", None))]
            return [Finished(place, line(item, ending, "win" if ending == "ok" else None))]
        return []

    def stop(self) -> None:
        self.stopped += 1

    def kill(self) -> None:
        self.killed += 1
        self.items.clear()

    def close(self) -> None:
        self.closed += 1


class Press:
    """An interrupt after so many games have begun."""

    def __init__(self, interrupts: Interrupts, after: int) -> None:
        self.interrupts = interrupts
        self.after = after


def play(
    folder: Path,
    endings: Mapping[int, str] | None = None,
    resume: bool = False,
    press_after: int | None = None,
    **given: Any,
) -> tuple[dict[str, Any], Script, list[dict[str, Any]]]:
    before = stored(folder) if resume else None
    options = resolve({**PAIR, **given}, None if before is None else before["config"])
    jobs = jobs_of(options)
    interrupts = Interrupts()
    press = None if press_after is None else Press(interrupts, press_after)
    script = Script(endings or {}, options.workers, press)
    told: list[dict[str, Any]] = []
    ticks = iter(range(10**6))
    with Store(folder, options, jobs, argv=["rmuc-arena"], isolation={}, before=before) as store:
        scheduler = Scheduler(
            store, jobs, options, script, TrustedLocal(),
            on_result=told.append, note=lambda text: None, clock=lambda: float(next(ticks)),
        )  # fmt: skip
        summary = scheduler.run(interrupts)
    return summary, script, told


# Jobs -------------------------------------------------------------------------------------------


def ids(**given: Any) -> list[str]:
    return [job.job_id for job in jobs_of(resolve({**PAIR, **given}))]


def test_each_seed_is_played_and_then_swapped() -> None:
    jobs = jobs_of(resolve({**PAIR, "games": 2, "seed": 5, "swap_sides": True}))
    assert [(job.index, job.seed, job.swapped) for job in jobs] == [
        (0, 5, False), (1, 5, True), (2, 6, False), (3, 6, True),
    ]  # fmt: skip
    assert [job.pairing.told["red"]["key"] for job in jobs] == [
        "std_2027_rush", "std_2027_hold", "std_2027_rush", "std_2027_hold",
    ]  # fmt: skip
    assert len({job.job_id for job in jobs}) == 4


def test_a_jobs_identity_is_what_is_played_and_nothing_else() -> None:
    plain = ids(seed=3)
    for same in ({"workers": 7}, {"fail_fast": True}, {"timeout": 9.0}, {"replays": "all"}):
        assert ids(seed=3, **same) == plain
    # A default that is written out is the default.
    assert ids(seed=3, duration=420.0, settings={"base_hp": 5000}, season="2027") == plain
    others = [
        ids(seed=4), ids(seed=3, duration=30.0), ids(seed=3, settings={"base_hp": 4000}),
        ids(seed=3, blue="std_2027_team"), ids(seed=3, red="std_2027_hold", blue="std_2027_rush"),
    ]  # fmt: skip
    assert len({*plain, *(other[0] for other in others)}) == 6


def test_a_list_of_games(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "main.py").write_text("def act(observation, state):\n    return {}\n")
    (mine / "arena.toml").write_text(
        '[strategy]\nkey = "mine"\nname = "Mine"\nversion = "1"\nseason = "2026"\nmode = "team"\n'
        'entry = "main:act"\nsdk = 1\n'
    )
    path.write_text(json.dumps([
        {"red": "mine", "seed": 4, "duration": 10, "blue": "std_2026_hold"},
        {"map": "rmuc2026", "red": None, "blue": None, "swap_sides": True, "seed": 9},
    ]))  # fmt: skip
    jobs = jobs_of(resolve({**PAIR, "jobs": read_jobs(path)}))
    assert [(job.seed, job.swapped, job.setup.season) for job in jobs] == [
        (4, False, "2026"), (9, False, "2026"), (9, True, "2026"),
    ]  # fmt: skip
    told = jobs[0].told()
    assert told["red"]["key"] == "mine"
    assert told["red"]["source"] == "path"
    assert not Path(told["red"]["ref"]).is_absolute()
    assert told["duration"] == 10
    assert jobs[1].pairing.told["blue"]["key"] == "std_2026_hold"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "must hold a list of objects"),
        ("[1]", "must hold a list of objects"),
        ("[]", "lists no game"),
        ("[", "is not JSON"),
        ('[{}, {"colour": 1}]', "element 1: unknown field 'colour'"),
        ('[{}, {"seed": -1}]', "element 1: seeds must be from 0 to 2^64 - 1, not -1"),
        ('[{"mode": "chess"}]', "element 0: --mode must be standard or deck, not 'chess'"),
        ('[{"red": "nobody"}]', "element 0: no strategy is named 'nobody'"),
        ('[{"duration": "long"}]', "element 0: --duration"),
        ('[{"map": "rmuc2027", "season": "2026"}]', "element 0: --map must be"),
    ],
)
def test_mistakes_in_a_list_name_the_element(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(text)
    with pytest.raises(ArenaError) as refused:
        jobs_of(resolve({"isolation": "none", "jobs": read_jobs(path)}))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seeds": [1, 2], "games": 3}, "--seeds excludes --games and --seed"),
        ({"seeds": [1, 1]}, "--seeds names a seed twice"),
        ({"games": 0}, "--games must be at least 1, not 0"),
        ({"seed": 2**64 - 1, "games": 2}, "seeds must be from 0 to 2^64 - 1"),
        ({"timeout": 0.0}, "--timeout must be more than 0 seconds"),
        ({"match_timeout": float("nan")}, "--match-timeout must be more than 0 seconds"),
        ({"memory_mb": 1}, "--memory-mb must be at least 64, not 1"),
        ({"replays": "some"}, "--replays must be none or errors or all, not 'some'"),
        ({"engine": "slurm"}, "--engine must be local or ray, not 'slurm'"),
        ({"engine": "ray", "pin_cpus": True}, "--pin-cpus is for --engine local"),
        ({"ray_address": "auto"}, "--ray-address is for --engine ray"),
        ({"jobs": [{}], "games": 2}, "--jobs lists the games"),
    ],
)
def test_options_are_checked(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArenaError) as refused:
        resolve(given)
    assert message in str(refused.value)


# Playing ----------------------------------------------------------------------------------------


def test_results_are_kept_in_the_order_of_completion(tmp_path: Path) -> None:
    summary, script, told = play(tmp_path / "run", games=5)
    kept = jsonl.read(tmp_path / "run" / "results.jsonl")
    assert kept == told
    assert script.begun == [0, 1, 2, 3, 4]
    assert [result["index"] for result in kept] == [1, 2, 3, 4, 0]
    assert summary["state"] == "finished"
    assert summary["wins"] == summary["valid"] == summary["total"] == 5
    assert summary["pending"] == 0
    assert json.loads((tmp_path / "run" / "summary.json").read_text()) == summary
    assert script.closed == 1


def test_a_lost_worker_is_a_failed_game(tmp_path: Path) -> None:
    summary, _, told = play(tmp_path / "run", {1: "lost"}, games=3)
    assert (summary["failed"], summary["wins"]) == (1, 2)
    failed = next(result for result in told if result["seed"] == 1)
    assert failed["error"]["code"] == "worker"
    assert "SIGKILL" in failed["error"]["message"]
    assert failed["strategies"]["red"]["key"] == "std_2027_rush"


def test_fail_fast_begins_no_more(tmp_path: Path) -> None:
    summary, script, _ = play(tmp_path / "run", {1: "strategy_error"}, games=9, fail_fast=True)
    assert summary["state"] == "failed_fast"
    assert script.begun == [0, 1]  # the game beside it was played to its end
    assert summary["wins"] == 1
    assert summary["pending"] == 7


def test_an_interrupt_ends_what_runs_and_begins_no_more(tmp_path: Path) -> None:
    endings = dict.fromkeys(range(2, 9), "until told")
    summary, script, _ = play(tmp_path / "run", endings, games=9, press_after=4)
    assert summary["state"] == "interrupted"
    assert script.stopped == 1
    assert summary["interrupted"] == 2
    assert summary["wins"] == 2
    assert script.killed == 0


def test_a_worker_that_an_interrupt_ends_was_interrupted(tmp_path: Path) -> None:
    """One that had not begun to listen dies of the signal."""
    endings = dict.fromkeys(range(2, 9), "lost when told")
    summary, _, told = play(tmp_path / "run", endings, games=9, press_after=4)
    assert (summary["interrupted"], summary["failed"], summary["wins"]) == (2, 0, 2)
    assert {line["error"]["code"] for line in told if line["status"] != "ok"} == {"worker"}


def test_games_that_do_not_end_after_an_interrupt_are_killed(tmp_path: Path) -> None:
    summary, script, _ = play(tmp_path / "run", {0: "hangs"}, games=4, workers=1, press_after=1)
    assert (script.stopped, script.killed) == (1, 1)
    assert summary["state"] == "interrupted"
    assert summary["pending"] == 4


# Going on ---------------------------------------------------------------------------------------


def test_resuming_plays_what_is_not_ok_and_inherits(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    play(folder, {1: "failed", 2: "timeout"}, games=4, duration=30.0)
    # Nothing is given again: all comes from run.json.
    before = stored(folder)
    assert before is not None
    options = resolve({"isolation": "none"}, before["config"])
    assert (options.games, options.duration, options.red) == (4, 30.0, "std_2027_rush")
    summary, script, told = play(folder, {2: "strategy_error"}, resume=True)
    assert script.begun == [1, 2]
    assert [result["attempt"] for result in told] == [2, 2]
    assert summary["valid"] == 3
    assert summary["strategy_errors"] == summary["errors"] == 1
    assert len(jsonl.read(folder / "results.jsonl")) == 6
    assert len(latest(jsonl.iterate(folder / "results.jsonl"))) == 4
    again = json.loads((folder / "run.json").read_text())
    assert again["created"] == before["created"]


def test_a_line_that_a_kill_cut_is_played_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    play(folder, games=3)
    results = folder / "results.jsonl"
    results.write_bytes(results.read_bytes()[:-20])
    summary, script, _ = play(folder, resume=True)
    assert len(script.begun) == 1
    assert summary["valid"] == 3
    assert len(jsonl.read(results)) == 3


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"seed": 1}, "seed"),
        ({"games": 4}, "games"),
        ({"blue": "std_2027_team"}, "blue"),
        ({"timeout": 0.5}, "timeout"),
        ({"startup_timeout": 99.0}, "startup_timeout"),
        ({"memory_mb": 600}, "memory_mb"),
        ({"settings": {"base_hp": 4000}}, "settings.base_hp"),
        ({"swap_sides": True}, "swap_sides"),
    ],
)
def test_another_run_is_refused(tmp_path: Path, given: dict[str, Any], key: str) -> None:
    folder = tmp_path / "run"
    play(folder, games=3)
    with pytest.raises(RefusedError) as refused:
        play(folder, resume=True, **given)
    assert refused.value.code == "resume_mismatch"
    assert f"{key} was" in str(refused.value)


def test_what_may_change_may(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    play(folder, {0: "failed"}, games=3)
    summary, _, _ = play(
        folder, resume=True, workers=1, fail_fast=True, replays="errors", match_timeout=60.0
    )
    assert summary["valid"] == 3


def test_changed_strategies_and_rules_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    play(folder, games=2)
    path = folder / "run.json"
    kept = path.read_text()
    for edit, key in (
        (lambda run: run["jobs"][0]["red"].update(version_hash="0"), "jobs.0.red.version_hash"),
        (lambda run: run["fingerprints"].update(engine="0"), "fingerprints.engine"),
    ):
        run = json.loads(kept)
        edit(run)
        path.write_text(json.dumps(run))
        with pytest.raises(RefusedError, match=f"{key} was"):
            play(folder, resume=True)


def test_one_process_holds_a_run(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    options = resolve({**PAIR, "games": 1})
    jobs = jobs_of(options)
    with (
        Store(folder, options, jobs, argv=[], isolation={}),
        pytest.raises(RefusedError, match="is in use by process") as refused,
    ):
        Store(folder, options, jobs, argv=[], isolation={})
    assert refused.value.code == "locked"


def test_foreign_folders_are_not_touched(tmp_path: Path) -> None:
    assert not is_used(tmp_path)
    (tmp_path / "run.lock").touch()
    assert not is_used(tmp_path), "a lock that nobody holds is left of a run that never began"
    (tmp_path / "letter.txt").write_text("dear")
    assert is_used(tmp_path)
    with pytest.raises(RefusedError, match="holds no run"):
        stored(tmp_path)
    (tmp_path / "run.json").write_text('{"format": "other"}')
    with pytest.raises(RefusedError, match="is not of a run"):
        stored(tmp_path)


# Counting ---------------------------------------------------------------------------------------


def test_wilson_intervals() -> None:
    # Brown, Cai, DasGupta (2001) give the same form; values by hand.
    assert wilson(0, 0) is None
    assert wilson(4, 4) == [0.510109, 1.0]
    assert wilson(0, 10) == [0.0, 0.277533]
    low, high = wilson(50, 100) or [0, 0]
    assert low == pytest.approx(0.403832)
    assert high == pytest.approx(0.596168)


def test_a_summary_counts_ok_games_for_strategy_a() -> None:
    def lines() -> Iterator[dict[str, Any]]:
        endings = [
            ("ok", "win", False), ("ok", "loss", True), ("ok", "draw", True), ("ok", "win", True),
            ("strategy_error", "win", False), ("failed", None, False), ("timeout", None, True),
            ("interrupted", None, False),
        ]  # fmt: skip
        for index, (status, outcome, swapped) in enumerate(endings):
            yield {"index": index, "status": status, "outcome": outcome, "swapped": swapped}

    summary = summarise(10, latest(lines()), state="running", workers=2, elapsed_s=4.0, played=8)
    assert (summary["valid"], summary["wins"], summary["losses"], summary["draws"]) == (4, 2, 1, 1)
    assert summary["by_side"] == {
        "A_red": {"w": 1, "l": 0, "d": 0},
        "A_blue": {"w": 1, "l": 1, "d": 1},
    }
    assert summary["completed"] == 7
    assert summary["errors"] == 3
    assert (summary["interrupted"], summary["pending"]) == (1, 2)
    assert summary["games_per_s"] == 2.0
    assert summary["win_rate"] == 0.5


def test_jobs_are_values() -> None:
    (first,) = jobs_of(resolve({**PAIR}))
    (second,) = jobs_of(resolve({**PAIR}))
    assert isinstance(first, Job)
    assert first == second
    assert isinstance(resolve({}), Options)
