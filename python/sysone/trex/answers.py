"""A model's answers by question, so that each question is asked once, in this run or ever.

The model is loaded or connected to with the first question that is not known. Known answers are
kept in a file, one JSON object a line, and found again by where they came from (``source``) and
by the texts of the question.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sysone.runs.atomic import write_bytes
from sysone.runs.errors import RunError, unreadable
from sysone.systemone.endpoints import ENDPOINTS
from sysone.trex.ask import QUESTION, Questions, build_question
from sysone.trex.backend import ApiBackend
from sysone.trex.decide import Backend, Reply, checked, read
from sysone.trex.keys import ACTIONS, Action
from sysone_core.trex import Plan

Key = tuple[str, ...]
"""State, instructions, and the text of each action in `ACTIONS` order."""


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A question and its answer; a line of the file."""

    source: str
    model: str
    state: str
    instructions: str
    criteria: dict[Action, str]
    probabilities: dict[Action, float]


class Answers:
    """Probabilities for questions, asked once each.

    ``source`` says who answers and in which version: answers of another source in the file are
    kept and not used. ``connect`` makes the backend when it is needed.

    Raises:
        RunError: the file cannot be read or holds something else.
    """

    def __init__(
        self, source: str, model: str, connect: Callable[[], Backend], path: Path | None = None
    ) -> None:
        self.source = source
        self.model = model
        self.asked = 0
        """Questions that were not known."""
        self.path = path
        self._connect = connect
        self._backend: Backend | None = None
        self._others: list[Known] = []
        self._known: dict[Key, dict[Action, float]] = {}
        self._given: set[Key] = set()
        self._new: list[Key] = []
        if path is not None and path.exists():
            for known in _read(path):
                if known.source == source:
                    self._known[_key(known)] = known.probabilities
                    self.model = known.model
                else:
                    self._others.append(known)

    def __len__(self) -> int:
        return len(self._known)

    def choose(self, plan: Plan, prompt: str) -> Mapping[Action, float]:
        """The probabilities for the question of a plan.

        Raises:
            RunError: it is not known and the model could not be asked.
        """
        state, questions = build_question(plan, prompt)
        question = questions[QUESTION]
        key = (state, question["instructions"], *question["criteria"].values())
        known = self._known.get(key)
        return known if known is not None else self._ask(key, state, questions)

    def know(self, state: str, questions: Questions, probabilities: Mapping[str, float]) -> None:
        """Take an answer from elsewhere, for this run; one that is known already stays."""
        question = questions[QUESTION]
        key = (state, question["instructions"], *question["criteria"].values())
        if key not in self._known:
            self._known[key] = checked(probabilities)
            self._given.add(key)

    def learn(self, new: Iterable[Known]) -> None:
        """Take what another process has asked of the same source."""
        for known in new:
            key = _key(known)
            if key not in self._known:
                self._known[key] = known.probabilities
                self.model = known.model
                self.asked += 1

    def take_new(self) -> list[Known]:
        """What was asked since the last call."""
        new, self._new = self._new, []
        return [self._line(key) for key in new]

    def save(self) -> None:
        """Write the file, if there is one and something new to keep.

        Raises:
            RunError: it cannot be written.
        """
        if self.path is None or not self.asked:
            return
        ours = [self._line(key) for key in self._known if key not in self._given]
        write_bytes(self.path, msgspec.json.Encoder().encode_lines([*self._others, *ours]))

    def close(self) -> None:
        """Let go of the model and keep what was learnt."""
        if self._backend is not None:
            self._backend.close()
            self._backend = None
        self.save()

    def _line(self, key: Key) -> Known:
        state, instructions, *criteria = key
        return Known(
            source=self.source,
            model=self.model,
            state=state,
            instructions=instructions,
            criteria=dict(zip(ACTIONS, criteria, strict=True)),
            probabilities=self._known[key],
        )

    def _ask(self, key: Key, state: str, questions: Questions) -> Mapping[Action, float]:
        try:
            if self._backend is None:
                self._backend = self._connect()
            reply = self._backend.ask(state, questions)
            probabilities = read(reply)
        except (RuntimeError, ValueError) as error:
            raise RunError(str(error)) from None
        self.model = reply.model
        self.asked += 1
        self._known[key] = probabilities
        self._new.append(key)
        return probabilities


class EmbeddedBackend:
    """The embedded model in this process."""

    def __init__(self, model: str) -> None:
        from sysone.systemone.engine import Engine  # loads the model's runtime

        self._engine = Engine()
        self.name = ENDPOINTS["local"].display_name
        self.inflight = 1
        self.usd_per_token = 0.0
        self.model = model
        self.detail = "embedded"

    def ask(self, state: str, questions: Questions) -> Reply:
        """Answer one question; nothing is timed."""
        reply = self._engine.answer(state, questions, model=self.model)
        return Reply(reply["answers"], reply["model"], 0, 0.0)

    def close(self) -> None:
        """Nothing is held open."""


def answers_of(kind: str, path: Path | None = None, base_url: str | None = None) -> Answers:
    """The answers of the embedded model (``local``) or of an endpoint (``clm``, ``jev``).

    Raises:
        ValueError: unknown kind.
    """
    endpoint = ENDPOINTS.get(kind)
    if endpoint is None:
        raise ValueError(f"kind must be one of {', '.join(ENDPOINTS)}, got {kind!r}")
    model = endpoint.model()
    address = base_url or endpoint.base_url()
    if address is None:
        version = embedded_version(model)
        return Answers(f"embedded · {version}", version, lambda: EmbeddedBackend(model), path)
    return Answers(f"{address} · {model}", model, lambda: ApiBackend(kind, 1, address), path)


def embedded_version(model: str) -> str:
    """The version of an embedded model, without its encoder being loaded."""
    from sysone.systemone.encoder import DATA
    from sysone.systemone.heads import load_heads

    record = DATA / "heads" / f"{model}.json"
    cards: list[dict[str, Any]] = [
        msgspec.json.decode(file.read_bytes()) for file in (record, DATA / "encoder.json")
    ]
    return load_heads(record, encoder=cards[0]["encoder"], width=cards[1]["width"]).version


def learn_recording(answers: Answers, path: Path) -> None:
    """Take the answers of a recorded run; its questions are planned again.

    Raises:
        RunError: the file is no recording, or not what the engine plays.
    """
    from sysone.trex.replay import Replay

    replay = Replay(path)
    replay.run()
    for asked in replay.asked:
        if asked.answer.probabilities is not None:
            answers.know(asked.state, asked.questions, asked.answer.probabilities)
            answers.model = asked.answer.model or answers.model


def _key(known: Known) -> Key:
    criteria = (known.criteria[action] for action in ACTIONS)
    return (known.state, known.instructions, *criteria)


def _read(path: Path) -> list[Known]:
    try:
        return msgspec.json.Decoder(Known).decode_lines(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path} is no file of answers: {error}") from error
