import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
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


def test_a_batch_would_change_bits(encoder: EmbeddedEncoder) -> None:
    """Why concurrent requests are encoded one by one, even where their lengths are equal.

    The first product of the shipped graph, alone and with another text of the same length in the
    batch: activations are quantised with one scale for the whole batch.
    """
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    graph = onnx.load(str(DATA / "encoder.onnx"))
    node = next(item for item in graph.graph.node if item.op_type == "DynamicQuantizeMatMul")
    graph.graph.output.append(helper.make_empty_tensor_value_info(node.input[0]))
    until = onnxruntime.InferenceSession(graph.SerializeToString())
    texts = ("The soup is hot today.", "A king left the castle.")
    ids = [np.array(encoder.tokenise(text, "head")[0], np.int64) for text in texts]
    one, other = (until.run([node.input[0]], {"ids": item})[0] for item in ids)
    assert one.shape == other.shape
    weights = {item.name: item for item in graph.graph.initializer}
    shape = ["texts", "tokens", one.shape[-1]]
    product = helper.make_model(
        helper.make_graph(
            [helper.make_node(node.op_type, ["x", *node.input[1:]], ["y"], domain=node.domain)],
            "product",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [weights[name] for name in node.input[1:]],
        ),
        opset_imports=list(graph.opset_import),
        ir_version=graph.ir_version,
    )
    session = onnxruntime.InferenceSession(product.SerializeToString())

    def first(*batch: np.ndarray) -> np.ndarray:
        found: np.ndarray = session.run(None, {"x": np.concatenate(batch)})[0][0]
        return found

    alone = first(one)
    assert np.array_equal(first(one, one), alone)
    assert np.mean(first(one, other) != alone) > 0.9
