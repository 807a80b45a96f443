"""From files of labelled questions to a head's files, with the checks that keep it honest."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import msgspec
import torch

from sysone.systemone.encoder import EmbeddedEncoder
from sysone.systemone.general import compared
from sysone.systemone.questions import Choice, Noul, Score
from sysone.systemone.training.calibration import sha256
from sysone.systemone.training.entailment import entailments, read_words
from sysone.systemone.training.examples import (
    Example,
    ExampleError,
    read_examples,
    refuse_overlap,
    refuse_seeds,
)
from sysone.systemone.training.general import general_choices
from sysone.systemone.training.logistic import LogisticConfig, train_logistic
from sysone.systemone.training.pairs import read_pairs
from sysone.systemone.training.reading import (
    ReaderConfig,
    derived_pairs,
    noul_pairs,
    train_reader,
)
from sysone.systemone.training.residual import Config, save_heads, train, write_record
from sysone.systemone.training.sheets import read_sheets

ANCHORS = 3000
ANCHOR_SEED = 1
CALIBRATION_SEED = 2

TEMPLATE_STATES = 6000

# Few examples: a gentle correction, found by cross-validation over whole blocks of the sheets.
SCORE_CONFIG = Config(
    epochs=20, batch=64, learning_rate=2e-3, training_scale=15.0, anchor_weight=3.0
)


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
    config: Config | LogisticConfig,
    name: str,
    description: str,
    out: Path,
) -> str:
    """Train on one file, fit the scale on another, write the head; returns one line about it.

    The config's type says which head: residual, or a logistic regression.

    Raises `ExampleError` for a bad file, a seed kept for evaluation, or seeds in both files.
    Questions that both files share (another seed can meet the same moment) leave calibration.
    """
    # One thread: sums in one order, so that the same command gives the same bytes.
    torch.set_num_threads(1)
    training = read_examples(questions)
    fitting = unseen(read_examples(calibration), training, str(calibration))
    refuse_seeds(training, held_out_seeds, str(questions))
    refuse_seeds(fitting, held_out_seeds, str(calibration))
    refuse_overlap(training, fitting, f"{questions} and {calibration}")
    # As many general questions: the one scale must not make the head overconfident elsewhere.
    general = list(general_choices(len(fitting), CALIBRATION_SEED))
    encoder = EmbeddedEncoder()
    about = {
        "questions": len(training),
        "questions_sha256": sha256(questions),
        "seeds": _span(training),
        "calibration_questions": len(fitting),
        "calibration_general": len(general),
        "calibration_seeds": _span(fitting),
        "held_out_seeds": [held_out_seeds.start, held_out_seeds.stop - 1],
        "config": asdict(config),
    }
    if isinstance(config, LogisticConfig):
        fitted = train_logistic(encoder, training, fitting + general, config)
        scale = fitted.scale
        tensors = {"action_head.weight": fitted.weight}
        cfg = {"kind": "logistic"}
        write_record(out, name, description, encoder, cfg, scale, about, tensors)
    else:
        anchors = list(general_choices(ANCHORS, ANCHOR_SEED))
        trained = train(encoder, training, anchors, fitting + general, config)
        scale = trained.scale
        save_heads(out, name, description, encoder, trained, {**about, "anchors": ANCHORS})
    return (
        f"{name}: {len(training)} questions, scale {scale:g} "
        f"fitted on {len(fitting) + len(general)} others, written to {out}"
    )


def train_general(
    sheets: list[Path],
    words: Path,
    name: str,
    description: str,
    out: Path,
    seed: int = 0,
    pairs: Sequence[Path] = (),
) -> str:
    """Train a model for questions of any kind on sheets, templates and pairs; a line about it.

    Raises `ExampleError` for a bad file. Temperatures are fitted afterwards, by `calibrate`.
    """
    # One thread: sums in one order, so that the same command gives the same bytes.
    torch.set_num_threads(1)
    examples = [case.example for case in read_sheets(sheets)]
    templates = [*entailments(read_words(words), TEMPLATE_STATES, seed)]
    contrasts = [pair for path in pairs for pair in read_pairs(path)]
    seen = [shown for example in examples for shown in _as_compared(example)]
    scores = [example for example in seen if isinstance(example.question, Score)]
    choices = [example for example in seen if isinstance(example.question, Choice)]
    encoder = EmbeddedEncoder()
    config = replace(SCORE_CONFIG, seed=seed)
    # The scale is left to the temperatures, so any will do: the training's.
    trained = replace(
        train(encoder, scores, scores + choices, scores, config), scale=config.training_scale
    )
    reader_config = ReaderConfig(seed=seed)
    network = train_reader(
        encoder,
        [*noul_pairs(examples), *derived_pairs(examples, seed)],
        [*noul_pairs(templates), *contrasts],
        reader_config,
    )
    about = {
        "files": {path.name: sha256(path) for path in (*sheets, words, *pairs)},
        "hand_written": len(examples),
        "template_questions": len(templates),
        "pairs": len(contrasts),
        "score_heads": asdict(config),
        "reader": asdict(reader_config),
        "seed": seed,
    }
    save_heads(out, name, description, encoder, trained, about, network.tensors())
    return (
        f"{name}: {len(examples)} questions, {len(templates)} of templates and "
        f"{len(contrasts)} pairs, written to {out}"
    )


def _as_compared(example: Example) -> list[Example]:
    """The example as the vectors' model sees it; nothing where words are read."""
    answer = example.answer
    if isinstance(example.question, Noul):
        answer = "true" if answer else "false"
    return [Example(example.state, question, answer) for question in compared(example.question)]


def _span(examples: list[Example]) -> list[int] | None:
    seeds = [example.seed for example in examples if example.seed is not None]
    return [min(seeds), max(seeds)] if seeds else None
