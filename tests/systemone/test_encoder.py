import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sysone.systemone.encoder import DATA, EmbeddedEncoder

REFERENCE = Path(__file__).parents[1] / "data" / "systemone"
TEXTS = json.loads((REFERENCE / "reference_texts.json").read_text())


@pytest.fixture(scope="module")
def encoder() -> EmbeddedEncoder:
    return EmbeddedEncoder()


def test_int8_vectors_are_close_to_the_fp32_model(encoder: EmbeddedEncoder) -> None:
    reference = np.load(REFERENCE / "reference_vectors.npy").astype(np.float32)
    assert len(TEXTS) == len(reference)
    for text, row in zip(TEXTS, reference, strict=True):
        vector = encoder.encode(text, "head").vector
        assert vector.shape == (encoder.width,)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        assert float(vector @ row / np.linalg.norm(row)) >= 0.97, text


def test_files_are_the_recorded_ones() -> None:
    record = json.loads((DATA / "encoder.json").read_text())
    for name, digest in record["sha256"].items():
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == digest


def test_a_vector_has_the_same_bits_alone_and_among_others(encoder: EmbeddedEncoder) -> None:
    alone = [encoder.encode(text, "head").vector.tobytes() for text in TEXTS]
    with ThreadPoolExecutor(4) as pool:
        crowded = list(pool.map(lambda text: encoder.encode(text, "head"), TEXTS * 3))
    assert [item.vector.tobytes() for item in crowded] == alone * 3


def test_a_long_text_keeps_the_end_that_matters(encoder: EmbeddedEncoder) -> None:
    filler = "filler " * 400
    tail = encoder.encode(filler + "the question", "tail")
    head = encoder.encode("the question" + " filler" * 400, "head")
    assert tail.truncated
    assert head.truncated
    assert tail.tokens == head.tokens == 256
    other = encoder.encode(filler + "another thing", "tail")
    assert tail.vector.tobytes() != other.vector.tobytes()
    same = encoder.encode(filler * 50 + "the question", "tail")
    assert tail.vector.tobytes() == same.vector.tobytes()


def test_a_text_that_just_fits_is_not_truncated(encoder: EmbeddedEncoder) -> None:
    assert not encoder.encode("word " * 254, "tail").truncated
    assert encoder.encode("word " * 255, "tail").truncated
