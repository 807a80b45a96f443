"""From files of labelled questions to a head's files, with the checks that keep it honest."""

import hashlib
from dataclasses import asdict
from pathlib import Path

import msgspec

from sysone.systemone.encoder import EmbeddedEncoder
from sysone.systemone.training.examples import (
    Example,
    ExampleError,
    read_examples,
    refuse_overlap,
    refuse_seeds,
)
from sysone.systemone.training.general import general_choices
from sysone.systemone.training.residual import Config, save_heads, train

ANCHORS = 3000
ANCHOR_SEED = 1
CALIBRATION_SEED = 2


def unseen(examples: list[Example], training: list[Example], what: str) -> list[Example]:
    """The examples whose question is not among the training's; `ExampleError` if none is left."""
    seen = {msgspec.json.encode((e.state, e.question)) for e in training}
    left = [e for e in examples if msgspec.json.encode((e.state, e.question)) not in seen]
    if not left:
        raise ExampleError(f"{what}: every question is among the training's")
    return left


def train_files(
    questions: Path,
    calibration: Path,
    held_out_seeds: range,
    config: Config,
    name: str,
    description: str,
    out: Path,
) -> str:
    """Train on one file, fit the scale on another, write the head; returns one line about it.

    Raises `ExampleError` for a bad file, a seed kept for evaluation, or seeds in both files.
    Questions that both files share (another seed can meet the same moment) leave calibration.
    """
    training = read_examples(questions)
    fitting = unseen(read_examples(calibration), training, str(calibration))
    refuse_seeds(training, held_out_seeds, str(questions))
    refuse_seeds(fitting, held_out_seeds, str(calibration))
    refuse_overlap(training, fitting, f"{questions} and {calibration}")
    # As many general questions: the one scale must not make the head overconfident elsewhere.
    general = list(general_choices(len(fitting), CALIBRATION_SEED))
    encoder = EmbeddedEncoder()
    trained = train(
        encoder, training, list(general_choices(ANCHORS, ANCHOR_SEED)), fitting + general, config
    )
    about = {
        "questions": len(training),
        "questions_sha256": hashlib.sha256(questions.read_bytes()).hexdigest(),
        "seeds": _span(training),
        "calibration_questions": len(fitting),
        "calibration_general": len(general),
        "calibration_seeds": _span(fitting),
        "held_out_seeds": [held_out_seeds.start, held_out_seeds.stop - 1],
        "anchors": ANCHORS,
        "config": asdict(config),
    }
    save_heads(out, name, description, encoder, trained, about)
    return (
        f"{name}: {len(training)} questions, scale {trained.scale:g} "
        f"fitted on {len(fitting) + len(general)} others, written to {out}"
    )


def _span(examples: list[Example]) -> list[int] | None:
    seeds = [example.seed for example in examples if example.seed is not None]
    return [min(seeds), max(seeds)] if seeds else None
