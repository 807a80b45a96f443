"""Decision models behind one interface; each is a named entry of the model list.

A model owns its text layout: it is handed the state and a question, not texts.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from sysone.systemone.cache import VectorCache
from sysone.systemone.encoder import Encoder, Keep, Vector
from sysone.systemone.heads import HeadPair, ResidualHead
from sysone.systemone.questions import Choice, Question, Score
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

    def statistics(self) -> dict[str, dict[str, float]]:
        """Figures of the model's caches by role."""

    def score(self, state: object, question: Question, *, cached: bool = False) -> Scored | None:
        """Logits of a question's candidates in their order (noul: false, true).

        With ``cached`` nothing is encoded: None if that would be needed. Thread-safe.
        Raises `RenderError` where a text cannot be laid out.
        """


def candidate_texts(question: Question) -> list[str]:
    """The text of each candidate: the description, or the option's name without one."""
    if isinstance(question, Choice):
        return [render(description) or name for name, description in question.criteria.items()]
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

    ``embeddings`` holds the encoder's vectors and may be shared by several models of one
    encoder, as long as each gives the same text the same side; projections are the model's own.
    """

    def __init__(
        self,
        heads: HeadPair,
        encoder: Encoder,
        embeddings: dict[Keep, VectorCache],
        cache_bytes: int,
    ) -> None:
        """Join heads to their encoder."""
        self._heads = heads
        self._encoder = encoder
        self._embeddings = embeddings
        self._projections: dict[Keep, VectorCache] = {
            "tail": VectorCache(encoder.width, cache_bytes // 2 if heads.state else 0),
            "head": VectorCache(encoder.width, cache_bytes // 2 if heads.action else 0),
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

    def score(self, state: object, question: Question, *, cached: bool = False) -> Scored | None:
        """Scaled cosines of the projected state and candidates."""
        texts = candidate_texts(question)
        states = self._vectors(
            [render_state(state, question.instructions)], "tail", self._heads.state, cached
        )
        if states is None:
            return None
        candidates = self._vectors(texts, "head", self._heads.action, cached)
        if candidates is None:
            return None
        # Row by row, unlike a matrix product: a candidate's number is the same in any company.
        cosines = np.einsum("ij,j->i", candidates.rows, states.rows[0])
        logits = [self._heads.scale * float(cosine) for cosine in cosines]
        return Scored(
            logits,
            states.tokens + candidates.tokens,
            states.truncated or candidates.truncated,
        )

    def _vectors(
        self, texts: Sequence[str], keep: Keep, head: ResidualHead | None, cached: bool
    ) -> "_Rows | None":
        """Projected vectors of the texts, from the caches where they are there."""
        embeddings = self._embeddings[keep]
        cache = embeddings if head is None else self._projections[keep]
        rows, flags, missing = cache.get(texts)
        if missing and cached:
            return None
        tokens = 0
        seen: dict[str, int] = {}
        for index in missing:
            text = texts[index]
            if text in seen:
                rows[index] = rows[seen[text]]
                flags[index] = flags[seen[text]]
                continue
            seen[text] = index
            vector, spent, truncated = self._embed(text, keep)
            tokens += spent
            if head is not None:
                vector = head.project(vector)
                cache.put(text, vector, truncated)
            rows[index] = vector
            flags[index] = truncated
        return _Rows(rows, tokens, bool(flags.any()))

    def _embed(self, text: str, keep: Keep) -> tuple[Vector, int, bool]:
        embeddings = self._embeddings[keep]
        rows, flags, missing = embeddings.get([text])
        if not missing:
            return rows[0], 0, bool(flags[0])
        encoded = self._encoder.encode(text, keep)
        embeddings.put(text, encoded.vector, encoded.truncated)
        return encoded.vector, encoded.tokens, encoded.truncated

    def statistics(self) -> dict[str, dict[str, float]]:
        """The caches' figures by role; models of one encoder share the embeddings."""
        return {
            "state_embeddings": self._embeddings["tail"].statistics(),
            "action_embeddings": self._embeddings["head"].statistics(),
            "state_projections": self._projections["tail"].statistics(),
            "action_projections": self._projections["head"].statistics(),
        }


class _Rows(NamedTuple):
    rows: Vector
    tokens: int
    truncated: bool
