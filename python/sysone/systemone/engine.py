"""Answers decision requests in process: check, score, read out.

engine = Engine()
engine.answer("It rains.", {"q": Choice({"umbrella": None, "sunglasses": None})})
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from sysone.systemone.answers import Answer, Usage, answer
from sysone.systemone.cache import VectorCache
from sysone.systemone.encoder import DATA, EmbeddedEncoder, Encoder, Keep
from sysone.systemone.heads import load_heads
from sysone.systemone.models import CosineModel, DecisionModel, ModelEntry
from sysone.systemone.questions import (
    MAX_OPTIONS,
    Fault,
    Question,
    Request,
    RequestError,
    check_request,
)
from sysone.systemone.render import RenderError

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


def embedded_models(
    encoder: Encoder | None = None, cache_bytes: int = CACHE_BYTES
) -> list[DecisionModel]:
    """The models that come with the package, on one encoder and one pair of caches."""
    encoder = encoder or EmbeddedEncoder()
    embeddings: dict[Keep, VectorCache] = {
        "tail": VectorCache(encoder.width, cache_bytes // 2),
        "head": VectorCache(encoder.width, cache_bytes // 2),
    }
    return [
        CosineModel(
            load_heads(
                DATA / "heads" / f"{name}.json", encoder=encoder.identity, width=encoder.width
            ),
            encoder,
            embeddings,
            cache_bytes,
        )
        for name in EMBEDDED_MODELS
    ]


class Engine:
    """Named models and the one way from a request to its answers. Thread-safe."""

    def __init__(
        self, models: list[DecisionModel] | None = None, *, max_options: int = MAX_OPTIONS
    ) -> None:
        """Serve ``models``, the first being the default; the embedded ones if none are given."""
        models = embedded_models() if models is None else models
        self._models = {model.entry.name: model for model in models}
        self._default = models[0].entry.name
        self.max_options = max_options

    @property
    def models(self) -> list[ModelEntry]:
        """The model list."""
        return [model.entry for model in self._models.values()]

    def model(self, name: str | None) -> DecisionModel:
        """The model of a name, an alias, a version, or the default; else `UnknownModelError`."""
        if name is None:
            return self._models[self._default]
        found = self._models.get(name)
        if found is None and name in ALIASES:
            found = self._models[self._default]
        if found is None:
            found = next((m for m in self._models.values() if m.version == name), None)
        if found is None:
            raise UnknownModelError(
                f"unknown model {name!r}; available: {', '.join([*self._models, *ALIASES])}"
            )
        return found

    def statistics(self) -> dict[str, dict[str, dict[str, float]]]:
        """Cache figures by model."""
        return {name: model.statistics() for name, model in self._models.items()}

    def check(self, body: object) -> Request:
        """Check a request body against this engine's limits; raises `RequestError`."""
        return check_request(body, max_options=self.max_options)

    def decide(self, request: Request, *, cached: bool = False) -> Decision | None:
        """Answer a checked request; with ``cached`` None unless every vector is at hand.

        Raises `UnknownModelError`, and `RequestError` where a text cannot be laid out.
        """
        model = self.model(request.model)
        answers: dict[str, Answer] = {}
        truncated = []
        tokens = 0
        for name, question in request.questions.items():
            try:
                scored = model.score(request.state, question, cached=cached)
            except RenderError as error:
                fault = Fault(("body", "questions", name), f"state or question: {error}", "text")
                raise RequestError([fault]) from None
            if scored is None:
                return None
            answers[name] = answer(question, scored.logits, request.temperature)
            tokens += scored.input_tokens
            if scored.truncated:
                truncated.append(name)
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
