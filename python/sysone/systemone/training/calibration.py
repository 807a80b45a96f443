"""Fit a record's temperatures on files of questions, after checking that training saw none."""

import hashlib
import json
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sysone.runs.atomic import write_json
from sysone.systemone.embeddings import Embeddings
from sysone.systemone.encoder import EmbeddedEncoder
from sysone.systemone.engine import embedded_model
from sysone.systemone.training.entailment import is_words
from sysone.systemone.training.examples import (
    Example,
    ExampleError,
    read_examples,
    refuse_overlap,
)
from sysone.systemone.training.pairs import SUFFIXES, read_pairs, refuse_shared
from sysone.systemone.training.sheets import read_sheet
from sysone.systemone.training.temperature import fit_all


def calibrate(record: Path, questions: list[Path], training: list[Path]) -> str:
    """Fit the temperatures of a record's model and write them into it; a table of them.

    ``training`` are the files it was trained on: they must be those that the record names, and
    must share no question with ``questions``. Raises `ExampleError` and `HeadError`.
    """
    try:
        raw = json.loads(record.read_bytes())
        known = _trained_on(raw)
    except (OSError, ValueError) as error:
        raise ExampleError(f"{record}: cannot be read: {error}") from None
    given = {sha256(path): path for path in training}
    missing = [name for name, digest in known.items() if digest not in given]
    if missing or not known:
        what = ", ".join(missing) or "any file"
        raise ExampleError(f"{record}: its training's {what} is not among the training files")
    fitting = read_any(questions)
    for path in training:
        if path.suffix in SUFFIXES:
            refuse_shared(read_pairs(path), fitting, f"{path} and the calibration")
        elif path.suffix == ".jsonl" or not is_words(path):
            refuse_overlap(read_any([path]), fitting, f"{path} and the calibration")
    encoder = EmbeddedEncoder()
    raw.pop("temperatures", None)
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / record.name
        write_json(bare, raw)
        if raw.get("weights"):
            shutil.copy(record.with_name(raw["weights"]), folder)
        model = embedded_model(bare, encoder, Embeddings(encoder, 0), 0)
    fitted = fit_all(model, fitting)
    raw["temperatures"] = {name: item.temperature for name, item in sorted(fitted.items())}
    raw["calibration"] = {
        "files": {path.name: sha256(path) for path in questions},
        "fitted": {name: asdict(item) for name, item in sorted(fitted.items())},
    }
    write_json(record, raw, indent=1)
    return "\n".join(
        f"{name}: temperature {item.temperature:g} on {item.questions} questions, "
        f"NLL {item.nll_before:.3f} to {item.nll:.3f}"
        for name, item in sorted(fitted.items())
    )


def _trained_on(record: dict[str, Any]) -> dict[str, str]:
    training = record.get("training", {})
    files: dict[str, str] = dict(training.get("files", {}))
    if "questions_sha256" in training:
        files["questions"] = training["questions_sha256"]
    return files


def read_any(paths: list[Path]) -> list[Example]:
    """Examples of JSONL files and of sheets, by the files' endings."""
    examples: list[Example] = []
    for path in paths:
        if path.suffix == ".jsonl":
            examples += read_examples(path)
        else:
            examples += [case.example for case in read_sheet(path)]
    return examples


def sha256(path: Path) -> str:
    """Hex digest of a file; raises `ExampleError` if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ExampleError(f"{path}: {error.strerror}") from None
