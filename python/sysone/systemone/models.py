"""Decision models behind one interface; each is a named entry of the model list.

A model owns its text layout: it is handed the state and a question, not texts.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import msgspec
import numpy as np

from sysone.systemone.cache import VectorCache
from sysone.systemone.embeddings import Embeddings, Rows
from sysone.systemone.encoder import Keep
from sysone.systemone.heads import Head, HeadPair
from sysone.systemone.questions import Choice, Noul, Question, Score
from sysone.systemone.render import render, render_state


class ModelEntry(msgspec.Struct, frozen=True):
    """A line of the model list; ``release_date`` is YYYY-MM-DD."""

    name: str
    description: str
    release_date: str


class Scored(NamedTuple):
    """One finite logit per candidate, the tokens encoded for it, and whether a text was cut."""

    logits: list[float]
    input_tokens: int
    truncated: bool


class DecisionModel(Protocol):
    """What answers questions."""

    @property
    def entry(self) -> ModelEntry:
        """Name and description for the model list."""

    @property
    def version(self) -> str:
        """The name that replies carry: it changes whenever answers may change."""

    @property
    def embeddings(self) -> Embeddings | None:
        """The encoder behind it, where it has one."""

    @property
    def waits(self) -> bool:
        """Whether answering waits for another machine rather than for a processor here."""

    def healthy(self) -> bool:
        """Whether it can answer now; waits a few seconds at most."""

    def statistics(self) -> dict[str, dict[str, float]]:
        """Figures of the model's caches by role."""

    def score(self, state: object, question: Question, *, cached: bool = False) -> Scored | None:
        """Logits of a question's candidates in their order (noul: false, true).

        With ``cached`` nothing is encoded: None if that would be needed. Thread-safe.
        Raises `RenderError` where a text cannot be laid out.
        """

    def score_all(
        self,
        state: object,
        questions: Sequence[Question],
        *,
        cached: bool = False,
        deadline: float | None = None,
    ) -> list[Scored] | None:
        """The same for several questions about one state; each gets what it would get alone.

        Raises `DeadlineError` when `time.monotonic` passes ``deadline``, and `EncoderError`.
        """


Layout: TypeAlias = Callable[[Question], list[str]]
"""The texts of a question's candidates in their order; a property of the model."""


def clm_candidates(question: Question) -> list[str]:
    """CLM's layout, which its heads are trained on: every side of a noul is prefixed."""
    if not isinstance(question, Noul):
        return candidate_texts(question)
    criteria = question.criteria or {}
    instructions = render(question.instructions).strip()
    texts = []
    for key, opening in (("false", "No. This is false: "), ("true", "Yes. This is true: ")):
        given = criteria.get(key)
        default = opening + instructions if instructions else key
        texts.append(f"{key}: {default if given in (None, '') else render(given)}")
    return texts


def candidate_texts(question: Question) -> list[str]:
    """The text of each candidate: the description, or the option's name without one."""
    if isinstance(question, Choice):
        # Most options have no description: a thousand calls would be a good part of a millisecond.
        return [
            render(description) or name if description else name
            for name, description in question.criteria.items()
        ]
    if isinstance(question, Score):
        return [render(level) for level in question.criteria]
    criteria = question.criteria or {}
    instructions = render(question.instructions).strip()
    texts = []
    for key, opening in (("false", "No. This is false: "), ("true", "Yes. This is true: ")):
        description = render(criteria.get(key))
        if description:
            texts.append(f"{key}: {description}")
        else:
            texts.append(opening + instructions if instructions else key)
    return texts


class CosineModel:
    """State and candidates encoded apart, projected by a pair of heads, compared by cosine.

    ``embeddings`` may be shared by several models of one encoder; projections are the model's own.
    """

    def __init__(
        self,
        heads: HeadPair,
        embeddings: Embeddings,
        cache_bytes: int,
        layout: Layout | None = None,
    ) -> None:
        """Join heads to their encoder; ``cache_bytes`` bound the two projection caches."""
        self._layout = layout or candidate_texts
        self._heads = heads
        self._embeddings = embeddings
        self._sides: dict[Keep, _Projection | None] = {
            "tail": _Projection(heads.state, cache_bytes // 2) if heads.state else None,
            "head": _Projection(heads.action, cache_bytes // 2) if heads.action else None,
        }
        self._entry = ModelEntry(heads.name, heads.description, heads.release_date)

    @property
    def entry(self) -> ModelEntry:
        """Name and description for the model list."""
        return self._entry

    @property
    def version(self) -> str:
        """Name and hash of the heads' files."""
        return self._heads.version

    @property
    def embeddings(self) -> Embeddings:
        """The encoder's side, which other models may share."""
        return self._embeddings

    @property
    def waits(self) -> bool:
        """As the encoder does."""
        return self._embeddings.encoder.waits

    def healthy(self) -> bool:
        """As the encoder is."""
        return self._embeddings.encoder.healthy()

    def score(self, state: object, question: Question, *, cached: bool = False) -> Scored | None:
        """Scaled cosines of the projected state and candidates."""
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
        """Every question's logits; the texts of all of them are encoded together."""
        options = [self._layout(question) for question in questions]
        states = self._vectors(
            [render_state(state, question.instructions) for question in questions],
            "tail",
            cached,
            deadline,
        )
        if states is None:
            return None
        flat = options[0] if len(options) == 1 else [text for texts in options for text in texts]
        candidates = self._vectors(flat, "head", cached, deadline)
        if candidates is None:
            return None
        scored = []
        tokens = states.tokens + candidates.tokens
        start = 0
        for index, texts in enumerate(options):
            end = start + len(texts)
            # Row by row, unlike a matrix product: a candidate's number is the same in any company.
            cosines = np.einsum("ij,j->i", candidates.rows[start:end], states.rows[index])
            factor = self._heads.scale / self._heads.temperature(questions[index])
            logits = [factor * cosine for cosine in cosines.tolist()]
            truncated = states.truncated[index] or any(candidates.truncated[start:end])
            scored.append(Scored(logits, tokens, truncated))
            tokens = 0
            start = end
        return scored

    def _vectors(
        self, texts: Sequence[str], keep: Keep, cached: bool, deadline: float | None
    ) -> Rows | None:
        """Projected vectors of the texts, from the caches where they are there."""
        side = self._sides[keep]
        if side is None:
            return self._embeddings.get(texts, keep, cached=cached, deadline=deadline)
        rows, flags, missing = side.cache.get(texts, all_or_none=cached)
        if not missing:
            return Rows(rows, 0, flags)
        if cached:
            return None
        wanted = list(dict.fromkeys(texts[index] for index in missing))
        embedded = self._embeddings.get(wanted, keep, deadline=deadline)
        assert embedded is not None
        done = {}
        for place, text in enumerate(wanted):
            vector = side.head.project(embedded.rows[place])
            side.cache.put(text, vector, embedded.truncated[place])
            done[text] = vector, embedded.truncated[place]
        for index in missing:
            rows[index], flags[index] = done[texts[index]]
        return Rows(rows, embedded.tokens, flags)

    def statistics(self) -> dict[str, dict[str, float]]:
        """The caches' figures by role; models of one encoder share the embeddings."""
        found = self._embeddings.statistics()
        for name, keep in (("state_projections", "tail"), ("action_projections", "head")):
            side = self._sides[keep]  # type: ignore[index]
            if side is not None:
                found[name] = side.cache.statistics()
        return found


class _Projection:
    """One side's head and the cache of what it made."""

    def __init__(self, head: Head, cache_bytes: int) -> None:
        self.head = head
        self.cache = VectorCache(head.width, cache_bytes)
