"""A transformers model in process; runs where the hf extra is installed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sysone.systemone.encoder import EncoderError
from sysone.systemone.hf_encoder import HfEncoder
from sysone.systemone.sources import EngineSettings, make_engine

pytestmark = pytest.mark.learn

WORDS = [
    *("the", "a", "light", "is", "green", "red", "what", "now"),
    *("go", "stop", "yes", "no", "word"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="needs the hf extra")
    transformers = pytest.importorskip("transformers", reason="needs the hf extra")
    import torch

    torch.manual_seed(0)
    path: Path = tmp_path_factory.mktemp("tiny")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (path / "vocab.txt").write_text("\n".join(vocabulary))
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=24,
    )
    transformers.BertModel(config).save_pretrained(path)
    transformers.BertTokenizerFast(str(path / "vocab.txt")).save_pretrained(path)
    return path


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_vectors_are_the_models_pooled_and_normalised(folder: Path, pooling: str) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    encoder = HfEncoder(folder, pooling=pooling)
    found = encoder.encode("the light is green", "head")
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    tokens = tokenizer("the light is green", return_tensors="pt")
    with torch.no_grad():
        hidden = AutoModel.from_pretrained(str(folder)).eval()(**tokens).last_hidden_state[0]
    pooled = (hidden[-1] if pooling == "last" else hidden.mean(0)).numpy()
    assert found.vector == pytest.approx(pooled / np.linalg.norm(pooled), abs=1e-6)
    assert (found.tokens, found.truncated, encoder.width) == (6, False, 32)


def test_a_long_text_keeps_the_end_that_matters(folder: Path) -> None:
    encoder = HfEncoder(folder)
    tail = encoder.encode("word " * 100 + "go stop", "tail")
    head = encoder.encode("go stop" + " word" * 100, "head")
    assert tail.truncated
    assert (tail.tokens, head.tokens) == (24, 24)
    assert (
        tail.vector.tobytes() == encoder.encode("word " * 20 + "go stop", "tail").vector.tobytes()
    )


def test_it_serves_a_clm_checkpoint(folder: Path) -> None:
    fixture = Path(__file__).parents[1] / "data" / "systemone" / "clm_checkpoint.pt"
    settings = EngineSettings(
        checkpoints={"clm": str(fixture)}, encoder=f"hf:{folder}", embedded=False, reload=False
    )
    question: dict[str, Any] = {"q": {"type": "choice", "criteria": {"go": None, "stop": None}}}
    with make_engine(settings) as engine:
        alone = engine.answer("the light is green", question)
        again = engine.answer("the light is green", question)
    assert alone["model"].startswith("clm@")
    assert again["answers"] == alone["answers"]
    assert again["usage"]["input_tokens"] == 0


def test_what_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"no config\.json"):
        HfEncoder(tmp_path)
    with pytest.raises(EncoderError, match="pooling 'first'"):
        HfEncoder(tmp_path, pooling="first")


def test_code_that_comes_with_a_model_does_not_run(folder: Path, tmp_path: Path) -> None:
    made = tmp_path / "made"
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "evil",
        "auto_map": {"AutoModel": "evil.Model", "AutoConfig": "evil.C"},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "evil.py").write_text(f"import pathlib\npathlib.Path({str(made)!r}).touch()\n")
    with pytest.raises(EncoderError, match="cannot be loaded"):
        HfEncoder(tmp_path)
    assert not made.exists()
