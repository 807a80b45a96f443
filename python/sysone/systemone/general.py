"""The model for questions of any kind: state and question are read apart.

A state's vector is made of the state alone, so that one encoding serves every question about it
and a long state does not push the question out. What is compared with it depends on the type:

* choice: each option's description (or name), once alone and once after the instructions; the
  mean of both plain cosines. Long lists are read alone, so that they stay cached whatever is
  asked of them.
* score: the instructions followed by the level, since a level alone ("half") says too little;
  cosine of the vectors that the heads project.
* noul: the instructions as a statement, weighed word by word (`reader`); where both sides are
  described, the two descriptions are compared as a choice's are.

Every logit is divided by the temperature that was fitted for its type and number of options.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np

from sysone.runs.sums import in_order
from sysone.systemone.cache import VectorCache
from sysone.systemone.cues import signs
from sysone.systemone.embeddings import Embeddings
from sysone.systemone.encoder import Reads
from sysone.systemone.heads import OPTION_BUCKETS, HeadPair, noul_sides
from sysone.systemone.models import CosineModel, ModelEntry, Scored
from sysone.systemone.questions import Choice, Noul, Question, Score, Text
from sysone.systemone.render import render

# Rows of one float each, and their keys: a few megabytes at most.
REMEMBERED_NOULS = 1 << 13

# From so many options on, a choice's options are read without the instructions.
LONG_LIST = OPTION_BUCKETS[-1]


def joined(instructions: object, text: str) -> str:
    """Instructions and a text in one line."""
    return f"{render(instructions).strip()} {text}".strip()


class Statement(NamedTuple):
    """What a noul asks to be so, or (``holds`` false) not to be so."""

    text: str
    holds: bool


def statement(question: Noul) -> Statement:
    """The statement of a noul of which at most one side is described."""
    for side, holds in (("true", True), ("false", False)):
        description = render((question.criteria or {}).get(side))
        if description:
            return Statement(joined(question.instructions, description), holds)
    return Statement(render(question.instructions).strip(), True)


def compared(question: Question) -> list[Choice] | list[Score]:
    """The questions for a model that compares vectors, whose logits are averaged.

    None where words must be read. Their instructions are in their candidates.
    """
    if isinstance(question, Score):
        return [
            Score([joined(question.instructions, render(level)) for level in question.criteria])
        ]
    if isinstance(question, Choice):
        criteria = question.criteria
    elif noul_sides(question) == 2:
        given = question.criteria or {}
        criteria = {side: given[side] for side in ("false", "true")}
    else:
        return []
    if len(criteria) >= LONG_LIST or not render(question.instructions).strip():
        return [Choice(criteria)]
    asked: dict[str, Text | None] = {
        name: joined(question.instructions, render(text) or name) for name, text in criteria.items()
    }
    return [Choice(criteria), Choice(asked)]


class GeneralModel:
    """Choice and score by cosine, noul by a reader; see the module's text."""

    def __init__(
        self, heads: HeadPair, embeddings: Embeddings, encoder: Reads, cache_bytes: int
    ) -> None:
        """Join heads to ``encoder``, which is the one behind ``embeddings``."""
        if heads.reader is None:
            raise ValueError(f"{heads.name}: the heads have no reader")
        self._reader = heads.reader
        self._heads = heads
        self._encoder = encoder
        # They see questions in other words: the temperatures of ours are applied here.
        untempered = replace(heads, temperatures={})
        self._choices = CosineModel(replace(untempered, state=None, action=None), embeddings, 0)
        self._scores = CosineModel(untempered, embeddings, cache_bytes)
        self._nouls = VectorCache(1, 4 * REMEMBERED_NOULS if cache_bytes else 0)

    @property
    def entry(self) -> ModelEntry:
        """Name and description for the model list."""
        return self._choices.entry

    @property
    def version(self) -> str:
        """Name and hash of the heads' files."""
        return self._heads.version

    @property
    def embeddings(self) -> Embeddings:
        """The encoder's side, which other models may share."""
        return self._choices.embeddings

    @property
    def waits(self) -> bool:
        """As the encoder does."""
        return self._encoder.waits

    def healthy(self) -> bool:
        """As the encoder is."""
        return self._encoder.healthy()

    def statistics(self) -> dict[str, dict[str, float]]:
        """The caches' figures by role."""
        return {**self._scores.statistics(), "noul_logits": self._nouls.statistics()}

    def score(self, state: object, question: Question, *, cached: bool = False) -> Scored | None:
        """Logits of one question."""
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
        """Every question's logits, each as it would be alone."""
        scored = []
        rendered = render(state).strip()
        for question in questions:
            about = rendered
            if not about:
                about = render(question.instructions).strip()
                if not isinstance(question, Noul):
                    question = msgspec.structs.replace(question, instructions=None)
            parts = compared(question)
            if parts:
                model = self._scores if isinstance(parts[0], Score) else self._choices
                found = model.score_all(about, parts, cached=cached, deadline=deadline)
                one = _mean(found) if found is not None else None
            else:
                assert isinstance(question, Noul)
                one = self._read(about, statement(question), cached, deadline)
            if one is None:
                return None
            temperature = self._heads.temperature(question)
            scored.append(one._replace(logits=[logit / temperature for logit in one.logits]))
        return scored

    def _read(
        self, state: str, asked: Statement, cached: bool, deadline: float | None
    ) -> Scored | None:
        """A noul's two logits; the statement's counts for the side that it speaks for."""
        key = f"{len(state)}:{state}{asked.text}"
        rows, flags, missing = self._nouls.get([key], all_or_none=cached)
        tokens = 0
        if missing:
            if cached:
                return None
            logit, tokens, cut = self._support(state, asked.text, deadline)
            self._nouls.put(key, np.array([logit], np.float32), cut)
            # As the cache would hand it out: the same bits the first time and ever after.
            value = float(np.float32(logit))
        else:
            value, cut = float(rows[0, 0]), flags[0]
        return Scored([0.0, value if asked.holds else -value], tokens, cut)

    def _support(self, state: str, text: str, deadline: float | None) -> tuple[float, int, bool]:
        about = self._encoder.read(state, "tail", deadline)
        said = self._encoder.read(text, "head", deadline)
        logit = self._reader.support(
            about.tokens, about.vector, said.tokens, said.vector, signs(state, text)
        )
        return logit, len(about.tokens) + len(said.tokens), about.truncated or said.truncated


def _mean(parts: Sequence[Scored]) -> Scored:
    """One question's logits from those of its wordings."""
    if len(parts) == 1:
        return parts[0]
    logits = [
        in_order(found) / len(parts) for found in zip(*(p.logits for p in parts), strict=True)
    ]
    tokens = sum(part.input_tokens for part in parts)
    return Scored(logits, tokens, any(part.truncated for part in parts))
