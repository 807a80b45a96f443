"""Answers decision requests in process: check, score, read out.

engine = Engine()
engine.answer("It rains.", {"q": Choice({"umbrella": None, "sunglasses": None})})
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from sysone.systemone.answers import Answer, Usage, answer
from sysone.systemone.embeddings import Embeddings
from sysone.systemone.encoder import DATA, EmbeddedEncoder, EncoderError, Reads
from sysone.systemone.general import GeneralModel
from sysone.systemone.heads import load_heads
from sysone.systemone.models import CosineModel, DecisionModel, ModelEntry, candidate_texts
from sysone.systemone.questions import (
    MAX_OPTIONS,
    Fault,
    Question,
    Request,
    RequestError,
    check_request,
)
from sysone.systemone.rank import QUESTION, check_rank, ranking
from sysone.systemone.reloading import ReloadingModel
from sysone.systemone.render import RenderError, render_state

DEFAULT_MODEL = "default"

# What the public clients send when the caller names no model.
ALIASES = {"clm-latest": DEFAULT_MODEL, "jev-latest": DEFAULT_MODEL}

EMBEDDED_MODELS = ("default", "trex")

CACHE_BYTES = 64 << 20


class UnknownModelError(LookupError):
    """No model of that name is served."""


class Decision(msgspec.Struct, frozen=True):
    """The answers to one request, before they are put on the wire."""

    model: str
    answers: dict[str, Answer]
    usage: Usage
    truncated: frozenset[str] = frozenset()
    """Ids of the questions of which a text was cut."""

    def to_wire(self) -> dict[str, Any]:
        """The reply as plain data."""
        answers = {name: msgspec.to_builtins(item) for name, item in self.answers.items()}
        for name in self.truncated:
            answers[name]["x_truncated"] = True
        return {
            "model": self.model,
            "answers": answers,
            "usage": msgspec.to_builtins(self.usage),
        }

    def to_json(self) -> bytes:
        """The reply as JSON; the numbers are finite, or the engine would have refused them."""
        if self.truncated:
            return msgspec.json.encode(self.to_wire())
        return msgspec.json.encode(
            {"model": self.model, "answers": self.answers, "usage": self.usage}
        )


def embedded_models(
    encoder: Reads | None = None, cache_bytes: int = CACHE_BYTES
) -> list[DecisionModel]:
    """The models that come with the package, on one encoder and one pair of caches."""
    encoder = encoder or EmbeddedEncoder()
    embeddings = Embeddings(encoder, cache_bytes)
    return [
        embedded_model(DATA / "heads" / f"{name}.json", encoder, embeddings, cache_bytes)
        for name in EMBEDDED_MODELS
    ]


def embedded_model(
    record: Path, encoder: Reads, embeddings: Embeddings, cache_bytes: int
) -> DecisionModel:
    """The model of a record: heads with a reader answer questions of any kind."""
    heads = load_heads(record, encoder=encoder.identity, width=encoder.width)
    if heads.reader is not None:
        return GeneralModel(heads, embeddings, encoder, cache_bytes)
    return CosineModel(heads, embeddings, cache_bytes)


class Engine:
    """Named models and the one way from a request to its answers. Thread-safe."""

    def __init__(
        self,
        models: list[DecisionModel] | None = None,
        *,
        max_options: int = MAX_OPTIONS,
        strict_length: bool = False,
        closers: Sequence[Callable[[], None]] = (),
    ) -> None:
        """Serve ``models``, the first being the default; the embedded ones if none are given.

        ``strict_length`` refuses a request of which a text would be cut; ``closers`` end what
        the models hold open.
        """
        models = embedded_models() if models is None else models
        self._models = {model.entry.name: model for model in models}
        self._default = models[0].entry.name
        self.max_options = max_options
        self.strict_length = strict_length
        self._closers = closers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections and stop following files; the engine is not to be used any more."""
        for close in self._closers:
            close()

    @property
    def models(self) -> list[ModelEntry]:
        """The model list."""
        return [model.entry for model in self._models.values()]

    def model(self, name: str | None) -> DecisionModel:
        """The model of a name, an alias, a version, or the default; else `UnknownModelError`."""
        if name is None:
            return _serving(self._models[self._default])
        found = self._models.get(name)
        if found is None and name in ALIASES:
            found = self._models[self._default]
        if found is None:
            found = next((m for m in self._models.values() if m.version == name), None)
        if found is None:
            raise UnknownModelError(
                f"unknown model {name!r}; available: {', '.join([*self._models, *ALIASES])}"
            )
        return _serving(found)

    def embeddings(self, name: str | None) -> tuple[str, Embeddings]:
        """The encoder behind a model, or of its own name; the first there is if None.

        Raises `UnknownModelError`.
        """
        encoders = [m.embeddings for m in self._models.values() if m.embeddings is not None]
        by_name = {item.encoder.identity.partition("@")[0]: item for item in reversed(encoders)}
        if not by_name:
            raise UnknownModelError("no model of this server has an encoder to share")
        if name in by_name:
            return by_name[name].encoder.identity, by_name[name]
        if name is not None:
            try:
                found = self.model(name).embeddings
            except UnknownModelError:
                found = None
            if found is None:
                raise UnknownModelError(
                    f"unknown encoder {name!r}; available: {', '.join([*by_name, *self._models])}"
                )
            return found.encoder.identity, found
        return encoders[0].encoder.identity, encoders[0]

    def reload_status(self) -> dict[str, dict[str, Any]]:
        """Of the models that follow a file: how often it was loaded, and what is wrong with it."""
        return {
            name: {"generation": model.generation, "version": model.version, "error": model.error}
            for name, model in self._models.items()
            if isinstance(model, ReloadingModel)
        }

    def healthy(self) -> bool:
        """Whether every model can answer now; waits a few seconds at most."""
        return all(model.healthy() for model in self._models.values())

    def statistics(self) -> dict[str, dict[str, dict[str, float]]]:
        """Cache figures by model."""
        return {name: model.statistics() for name, model in self._models.items()}

    def check(self, body: object) -> Request:
        """Check a request body against this engine's limits; raises `RequestError`."""
        return check_request(body, max_options=self.max_options)

    def decide(
        self, request: Request, *, cached: bool = False, deadline: float | None = None
    ) -> Decision | None:
        """Answer a checked request; with ``cached`` None unless every vector is at hand.

        ``deadline`` is a time of `time.monotonic`. Raises `UnknownModelError`, `RequestError`
        where a text cannot be laid out or had to be cut under ``strict_length``, `DeadlineError`
        and `EncoderError`.
        """
        model = self.model(request.model)
        try:
            scored = model.score_all(
                request.state, list(request.questions.values()), cached=cached, deadline=deadline
            )
        except RenderError as error:
            raise RequestError([_misfit(request, error)]) from None
        if scored is None:
            return None
        answers: dict[str, Answer] = {}
        truncated = []
        tokens = 0
        for (name, question), found in zip(request.questions.items(), scored, strict=True):
            if not math.isfinite(math.fsum(found.logits)):
                raise EncoderError(f"{model.version} made a number that is not finite")
            answers[name] = answer(question, found.logits, request.temperature)
            tokens += found.input_tokens
            if found.truncated:
                truncated.append(name)
        if truncated and self.strict_length:
            raise RequestError([_cut(name) for name in truncated])
        usage = Usage(input_tokens=tokens, billing_units=len(answers))
        return Decision(model.version, answers, usage, frozenset(truncated))

    def answer(
        self,
        state: object,
        questions: Mapping[str, Question | Mapping[str, Any]],
        model: str | None = None,
        temperature: float = 1.0,
    ) -> dict[str, Any]:
        """The reply of ``POST /v1/systemone`` as a dictionary.

        Questions are structs or dictionaries in wire form. Raises `RequestError` and
        `UnknownModelError`.
        """
        request = self.check(
            {"state": state, "questions": questions, "model": model, "temperature": temperature}
        )
        decision = self.decide(request)
        assert decision is not None
        return decision.to_wire()

    def rank(
        self,
        state: object,
        candidates: Sequence[str],
        instructions: object = None,
        model: str | None = None,
        temperature: float = 1.0,
    ) -> list[dict[str, Any]]:
        """The ``ranked`` of ``POST /v1/rank``: rank, candidate and prob, best first.

        Raises `RequestError` and `UnknownModelError`.
        """
        body = {"context": state, "question": instructions, "answers": list(candidates)}
        request, texts = check_rank(
            {**body, "model": model, "temperature": temperature}, max_options=self.max_options
        )
        decision = self.decide(request)
        assert decision is not None
        return ranking(decision.answers[QUESTION], texts)  # type: ignore[arg-type]


def _serving(model: DecisionModel) -> DecisionModel:
    """The weights that serve now: name and answer of one reply are of the same ones."""
    return model.snapshot() if isinstance(model, ReloadingModel) else model


def _misfit(request: Request, error: RenderError) -> Fault:
    """Where the text that cannot be laid out is."""
    loc: tuple[str, ...] = ("body", "state")
    for name, question in request.questions.items():
        try:
            render_state("", question.instructions)
            candidate_texts(question)
        except RenderError:
            loc = ("body", "questions", name)
    return Fault(loc, str(error), "text")


def _cut(name: str) -> Fault:
    return Fault(
        ("body", "questions", name),
        "the state or a candidate is longer than the model reads, and this server refuses to cut",
        "too_long",
    )
