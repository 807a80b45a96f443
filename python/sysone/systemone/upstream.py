"""Another System One endpoint as a model of ours: asked in the contract, and held to it."""

import math
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from sysone.systemone.answers import Answer, ChoiceAnswer, NoulAnswer, ScoreAnswer
from sysone.systemone.client import DEFAULT_MODEL, CLMClient, SystemOneError
from sysone.systemone.embeddings import Embeddings
from sysone.systemone.encoder import DeadlineError, EncoderError
from sysone.systemone.models import ModelEntry, Scored
from sysone.systemone.questions import Choice, Fault, Noul, Question, RequestError

TIMEOUT_S = 60.0
PROBE_EVERY_S = 5.0

# What the conformance suite allows rounded probabilities.
SUM_SLACK = 0.05
TOP_SLACK = 0.005

# The logarithm of the smallest positive number: stands for a probability of zero.
FLOOR = math.log(5e-324)

# What the caller's request is to blame for; everything else is the upstream's fault.
CALLERS_FAULTS = (400, 413, 422)


class UpstreamModel:
    """Answers come from another server; its probabilities are read as logits."""

    def __init__(self, name: str, url: str, *, api_key: str | None = None) -> None:
        """``url`` may end in ``#MODEL``, the model to ask for there. Raises `SystemOneError`."""
        base_url, _, model = url.partition("#")
        self._client = CLMClient(base_url, api_key, timeout=TIMEOUT_S, model=model or DEFAULT_MODEL)
        today = datetime.now(UTC).date().isoformat()
        self._entry = ModelEntry(name, f"Answers of {self._client.base_url}", today)
        self._resolved = model or "unknown"
        self._probed: tuple[float, bool] | None = None

    @property
    def entry(self) -> ModelEntry:
        """Name and description for the model list."""
        return self._entry

    @property
    def version(self) -> str:
        """Our name and the name that the upstream last answered under."""
        return f"{self._entry.name}@{self._resolved}"

    @property
    def embeddings(self) -> Embeddings | None:
        """None: it keeps its encoder to itself."""
        return None

    @property
    def waits(self) -> bool:
        """It waits for the network."""
        return True

    def healthy(self) -> bool:
        """Whether its model list answers; asked at most every `PROBE_EVERY_S`."""
        now = time.monotonic()
        if self._probed is None or now - self._probed[0] > PROBE_EVERY_S:
            try:
                self._client.models()
                self._probed = now, True
            except SystemOneError:
                self._probed = now, False
        return self._probed[1]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def statistics(self) -> dict[str, dict[str, float]]:
        """Nothing is kept here."""
        return {}

    def score(self, state: object, question: Question, *, cached: bool = False) -> Scored | None:
        """One question's logits."""
        scored = self.score_all(state, [question], cached=cached)
        return None if scored is None else scored[0]

    def score_all(
        self,
        state: object,
        questions: Sequence[Question],
        *,
        cached: bool = False,
        deadline: float | None = None,
    ) -> list[Scored] | None:
        """All questions in one request; the caller's ids stay here."""
        if cached:
            return None
        if deadline is not None and time.monotonic() > deadline:
            raise DeadlineError("the upstream was not asked in time")
        named = {f"q{index}": question for index, question in enumerate(questions)}
        try:
            reply = self._client.system_one(state, named)
        except SystemOneError as error:
            if error.status in CALLERS_FAULTS:
                fault = Fault(("body",), f"{self._entry.name}: {error.message}", "upstream")
                raise RequestError([fault]) from None
            raise EncoderError(f"{self._entry.name}: {error}") from None
        if set(reply.answers) != set(named):
            raise self._broken("its answers are not one for each question")
        self._resolved = reply.model
        scored = []
        tokens = max(0, reply.usage.input_tokens)
        for name, question in named.items():
            logits = self._logits(question, reply.answers[name])
            scored.append(Scored(logits, tokens, False))
            tokens = 0
        return scored

    def _logits(self, question: Question, answer: Answer) -> list[float]:
        if isinstance(question, Noul):
            if not isinstance(answer, NoulAnswer):
                raise self._broken(f"it answered a noul with {answer.type}")
            values = [1.0 - answer.noul, answer.noul]
        elif isinstance(question, Choice):
            if not isinstance(answer, ChoiceAnswer):
                raise self._broken(f"it answered a choice with {answer.type}")
            values = self._values(answer.probabilities, list(question.criteria))
            if answer.choice not in question.criteria:
                raise self._broken(f"its choice {answer.choice[:60]!r} is no option")
            if answer.probabilities[answer.choice] < max(values) - TOP_SLACK:
                raise self._broken(f"its choice {answer.choice[:60]!r} is not the most probable")
        else:
            if not isinstance(answer, ScoreAnswer):
                raise self._broken(f"it answered a score with {answer.type}")
            levels = [str(index) for index in range(len(question.criteria))]
            values = self._values(answer.probabilities, levels)
        if not all(0 <= value <= 1 for value in values):
            raise self._broken("a probability is not in [0, 1]")
        if abs(math.fsum(values) - 1) > SUM_SLACK:
            raise self._broken(f"its probabilities sum to {math.fsum(values):g}")
        return [math.log(value) if value > 0 else FLOOR for value in values]

    def _values(self, probabilities: dict[str, float], names: list[str]) -> list[float]:
        if set(probabilities) != set(names):
            raise self._broken("its probabilities are not those of the options")
        return [probabilities[name] for name in names]

    def _broken(self, how: str) -> EncoderError:
        return EncoderError(f"{self._entry.name}: the reply breaks the contract: {how}")
