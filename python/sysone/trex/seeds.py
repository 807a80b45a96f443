"""Seeds on a simulated clock: one after the other here, or many at a time on an executor."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from sysone.executors import collect, executor_of, results, shipped
from sysone.runs.errors import unreadable
from sysone.systemone.endpoints import ENDPOINTS
from sysone.trex.answers import Answers, Known, answers_of, learn_recording
from sysone.trex.options import Options
from sysone.trex.recording import RecordingFile, is_recording
from sysone.trex.report import SeedRow, seed_row
from sysone.trex.simulate import Identity, simulate


def open_answers(options: Options) -> Answers:
    """The answers of the options' model.

    Raises:
        RunError: a file of known answers cannot be used.
    """
    path = options.answers
    if path is None or not path.exists() or not is_recording(path):
        return answers_of(options.model, path, options.base_url)
    answers = answers_of(options.model, options.new_answers, options.base_url)
    learn_recording(answers, path)
    return answers


def play_virtual(
    options: Options, answers: Answers, seed: int, record: RecordingFile | None = None
) -> SeedRow:
    """Play one seed on the simulated clock.

    Raises:
        RunError: an answer is not known and the model cannot be asked.
    """
    assert options.latency is not None
    name = ENDPOINTS[options.model].display_name
    player = Identity(name, options.requests, answers.model, answers.source)
    prompt = options.prompt
    conditions = options.conditions(options.latency, lockstep=True)
    arena, pilot = simulate(
        player, seed, conditions, lambda plan: answers.choose(plan, prompt), prompt, record
    )
    # The model's own name may come with its first answer.
    return msgspec.structs.replace(seed_row(seed, arena, pilot), model=answers.model)


def play_shared(
    options: Options,
    seeds: Sequence[int],
    note: Callable[[str], None],
    check: Callable[[], None] = lambda: None,
) -> Generator[SeedRow, None, None]:
    """Play seeds on the options' engine, ``options.jobs`` at a time; rows as they are ready.

    A row does not depend on where its seed was played. The model's answers that were new are kept
    as if they had been given here.

    Raises:
        RunError: a seed could not be played.
        EngineError: the engine cannot be used.
    """
    with closing(open_answers(options)) as answers:
        known = _shipped(options.answers) if options.engine != "local" else {}
        name = next(iter(known), None)
        executor = executor_of(
            options.engine,
            _play_there,
            min(options.jobs, len(seeds)),
            address=options.ray_address,
            files=known,
            note=note,
        )
        work = replace(options, record=None)
        found = collect(
            executor, len(seeds), lambda place: _Seed(work, seeds[place], name), check=check
        )
        for _, (row, new) in results(found):
            answers.learn(new)
            yield row


def _shipped(path: Path | None) -> Mapping[str, bytes]:
    """The file of known answers for machines that do not have it."""
    if path is None or not path.exists():
        return {}
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    return {shipped.name_of(data): data}


# In a process of the executor -----------------------------------------------------------------


class _Seed(NamedTuple):
    options: Options
    seed: int
    known: str | None
    """Name of the shipped file of answers; None where the options' own path can be read."""


class _Kept(NamedTuple):
    """The answers of the last seed that was played here, for the next one."""

    options: Options
    answers: Answers


_kept: _Kept | None = None


def _play_there(item: _Seed, stopping: Callable[[], bool]) -> tuple[SeedRow, list[Known]]:
    global _kept
    options = item.options
    if options.engine != "local":
        path = None if item.known is None else shipped.path_of(item.known)
        options = replace(options, answers=path, new_answers=None)
    if _kept is None or _kept.options != options:
        _kept = _Kept(options, open_answers(options))
    row = play_virtual(options, _kept.answers, item.seed)
    return row, _kept.answers.take_new()
