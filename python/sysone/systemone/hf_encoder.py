"""A transformers model in this process as the encoder (needs the hf extra; loads local files)."""

import hashlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sysone.systemone.encoder import Encoded, EncoderError, Keep, Vector, one_by_one

POOLINGS = ("last", "mean")


class HfEncoder:
    """One text a run, as the embedded encoder does, so that no batch changes a bit."""

    def __init__(
        self, folder: Path, *, pooling: str = "last", max_tokens: int = 2048, device: str = "cpu"
    ) -> None:
        """Load model and tokenizer from a folder; nothing is downloaded and no code of it runs.

        Raises `EncoderError` for a folder that holds no model.
        """
        if pooling not in POOLINGS:
            raise EncoderError(f"pooling {pooling!r}: expected one of {', '.join(POOLINGS)}")
        if not (folder / "config.json").is_file():
            raise EncoderError(f"{folder}: no config.json; expected a folder of save_pretrained")
        try:
            import torch
            from transformers import AutoModel, AutoTokenizer
        except ModuleNotFoundError as missing:
            raise EncoderError(
                f"an hf encoder needs {missing.name}: pip install 'sysone-core[hf]'"
            ) from None
        options = {"local_files_only": True, "trust_remote_code": False}
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(str(folder), **options)
            self._model: Any = AutoModel.from_pretrained(
                str(folder), use_safetensors=True, **options
            )
        except (OSError, ValueError) as error:
            raise EncoderError(f"{folder}: cannot be loaded: {error}") from None
        self._torch: Any = torch
        self._before, self._after = self._special_tokens()
        self._model.eval().to(device)
        self._device = device
        self._pooling = pooling
        self._width = int(self._model.config.hidden_size)
        longest = getattr(self._model.config, "max_position_embeddings", max_tokens)
        self._max_tokens = min(max_tokens, int(longest))
        config = (folder / "config.json").read_bytes()
        self._identity = f"{folder.name}-{pooling}@{hashlib.sha256(config).hexdigest()[:12]}"
        # Two passes at once would share torch's threads and gain nothing.
        self._lock = threading.Lock()

    def _special_tokens(self) -> tuple[list[int], list[int]]:
        """What the tokenizer puts before and after a text: where a text is cut is ours to say."""
        bare = self._tokenizer.encode("a", add_special_tokens=False)
        whole = self._tokenizer.encode("a")
        for start in range(len(whole) - len(bare) + 1):
            if whole[start : start + len(bare)] == bare:
                return whole[:start], whole[start + len(bare) :]
        raise EncoderError("the tokenizer changes a text when it adds its special tokens")

    @property
    def identity(self) -> str:
        """The folder's name, the pooling and the configuration's hash."""
        return self._identity

    @property
    def width(self) -> int:
        """The model's hidden size."""
        return self._width

    @property
    def waits(self) -> bool:
        """It computes here."""
        return False

    @property
    def max_tokens(self) -> int:
        """With the special tokens."""
        return self._max_tokens

    def healthy(self) -> bool:
        """It is here."""
        return True

    def encode(self, text: str, keep: Keep) -> Encoded:
        """The L2-normalised vector of one text."""
        ids = self._tokenizer.encode(text, add_special_tokens=False)
        room = self._max_tokens - len(self._before) - len(self._after)
        truncated = len(ids) > room
        if truncated:
            ids = ids[-room:] if keep == "tail" else ids[:room]
        ids = [*self._before, *ids, *self._after] or [0]
        torch = self._torch
        with self._lock, torch.inference_mode():
            tokens = torch.tensor([ids], device=self._device)
            hidden = self._model(
                input_ids=tokens, attention_mask=torch.ones_like(tokens)
            ).last_hidden_state[0]
            pooled = hidden[-1] if self._pooling == "last" else hidden.mean(0)
            normalised = torch.nn.functional.normalize(pooled.float(), dim=0)
            vector: Vector = normalised.cpu().numpy()
        return Encoded(vector, len(ids), truncated)

    def encode_many(
        self, items: Sequence[tuple[str, Keep]], deadline: float | None
    ) -> Iterator[Encoded]:
        """One text after the other."""
        return one_by_one(self.encode, items, deadline)
