"""The table of a model's figures, as the model card prints it."""

import re
from pathlib import Path

import msgspec

from sysone.systemone.embeddings import Embeddings
from sysone.systemone.encoder import DATA, EmbeddedEncoder
from sysone.systemone.engine import CACHE_BYTES, EMBEDDED_MODELS, embedded_model
from sysone.systemone.heads import HeadError, HeadPair
from sysone.systemone.models import CosineModel, DecisionModel
from sysone.systemone.questions import Choice
from sysone.systemone.training.calibration import read_any
from sysone.systemone.training.comparison import compare
from sysone.systemone.training.evaluate import evaluate, flips
from sysone.systemone.training.examples import Example

# The plain encoder's scale before any was fitted: sentence-transformers' for cosine losses.
PLAIN_SCALE = 20.0

HEADER = (
    "| questions | n | best constant | accuracy | harmless | NLL | ECE | order flips | "
    "label flips |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)

GAIN_HEADER = (
    "| questions | n | plain | accuracy | gain | 95 % interval | gained | lost | p |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def plain_model(encoder: EmbeddedEncoder, scale: float = PLAIN_SCALE) -> DecisionModel:
    """The encoder alone: state and instructions in one text, scaled cosine."""
    heads = HeadPair("plain", "plain@0", "The encoder's plain cosine", "1970-01-01", scale)
    return CosineModel(heads, Embeddings(encoder, CACHE_BYTES), 0)


def model_of(name: str, encoder: EmbeddedEncoder) -> DecisionModel:
    """A model of the package by name, or of a record by path; raises `HeadError`."""
    record = DATA / "heads" / f"{name}.json" if name in EMBEDDED_MODELS else Path(name)
    if not record.is_file():
        raise HeadError(
            f"model {name!r}: expected {', '.join(EMBEDDED_MODELS)} or the path of a record"
        )
    return embedded_model(record, encoder, Embeddings(encoder, CACHE_BYTES), CACHE_BYTES)


def without_word(example: Example, word: str) -> Example:
    """The same choice with a word, and the stop or colon after it, out of every description."""
    question = example.question
    if not isinstance(question, Choice):
        return example
    pattern = re.compile(rf"\s*\b{re.escape(word)}\b[.:]?")
    criteria = {
        name: pattern.sub("", text).strip() if isinstance(text, str) else text
        for name, text in question.criteria.items()
    }
    return msgspec.structs.replace(example, question=Choice(criteria, question.instructions))


def table(name: str, files: list[Path], *, plain: bool = False, without: str | None = None) -> str:
    """Markdown: one row a group."""
    examples = read_any(files)
    if without:
        examples = [without_word(example, without) for example in examples]
    encoder = EmbeddedEncoder()
    model = plain_model(encoder) if plain else model_of(name, encoder)
    changed = flips(model, examples)
    lines = [HEADER]
    for group, found in evaluate(model, examples).items():
        flipped = changed.get(group)
        asked = f" of {flipped.asked}" if flipped else "–"
        order, labels = (
            (f"{flipped.order}{asked}", f"{flipped.relabelled}{asked}") if flipped else ("–", "–")
        )
        lines.append(
            f"| {group} | {found.questions} | {found.constant:.3f} | {found.accuracy:.3f} | "
            f"{found.harmless:.3f} | {found.nll:.3f} | {found.ece:.3f} | {order} | {labels} |"
        )
    return "\n".join(lines)


def gain_table(name: str, files: list[Path]) -> str:
    """Markdown: a model beside plain cosine, one row a group."""
    encoder = EmbeddedEncoder()
    found = compare(plain_model(encoder), model_of(name, encoder), read_any(files))
    lines = [GAIN_HEADER]
    for group, gain in found.items():
        lines.append(
            f"| {group} | {gain.questions} | {gain.before:.3f} | {gain.after:.3f} | "
            f"{gain.after - gain.before:+.3f} | {gain.low:+.3f} to {gain.high:+.3f} | "
            f"{gain.gained} | {gain.lost} | {gain.p:.2g} |"
        )
    return "\n".join(lines)
