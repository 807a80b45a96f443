"""Text to vector with the embedded all-MiniLM-L6-v2 (int8, ONNX Runtime).

One text a run, without padding: a vector depends on its text alone, to the last bit, whatever
else the process encodes at the time. A run uses one thread; callers run several at once.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
Keep = Literal["head", "tail"]
"""Which end of an over-long text is read: a state's tail, a candidate's head."""

DATA = Path(str(files("sysone.systemone"))) / "data"

# Far more characters than the model can read in tokens; keeps megabytes out of the tokenizer.
CHARACTERS_PER_TOKEN = 64


class Encoded(NamedTuple):
    """A normalised vector, the tokens that were read, and whether some were left out."""

    vector: Vector
    tokens: int
    truncated: bool


class EncoderError(RuntimeError):
    """The encoder cannot be reached or does not do its work; not the caller's fault."""


class DeadlineError(RuntimeError):
    """The time limit was reached before every text was encoded."""


class Read(NamedTuple):
    """What the encoder makes of one text, token by token."""

    tokens: Vector
    """float32 [n, width], the two special tokens included."""
    vector: Vector
    """float32 [width], normalised: `Encoded.vector`."""
    truncated: bool


class Encoder(Protocol):
    """Anything that turns texts into vectors."""

    @property
    def identity(self) -> str:
        """Name and weights' hash; heads fit only the encoder they were trained on."""

    @property
    def width(self) -> int:
        """Components of a vector; 0 as long as it is not known."""

    @property
    def waits(self) -> bool:
        """Whether encoding waits for another machine rather than for a processor here."""

    @property
    def max_tokens(self) -> int:
        """The longest text that is read whole."""

    def healthy(self) -> bool:
        """Whether it can do its work now; waits a few seconds at most."""

    def encode(self, text: str, keep: Keep) -> Encoded:
        """The L2-normalised vector of one text. Thread-safe."""

    def encode_many(
        self, items: Sequence[tuple[str, Keep]], deadline: float | None
    ) -> Iterator[Encoded]:
        """The vectors of texts in their order, as they are ready. Thread-safe.

        Raises `DeadlineError` when `time.monotonic` passes ``deadline``, and `EncoderError`.
        """


def one_by_one(
    encode: Callable[[str, Keep], Encoded],
    items: Sequence[tuple[str, Keep]],
    deadline: float | None,
) -> Iterator[Encoded]:
    """`Encoder.encode_many` of an encoder that reads one text a run."""
    for done, (text, keep) in enumerate(items):
        if deadline is not None and time.monotonic() > deadline:
            raise DeadlineError(f"time for {done} of {len(items)} unseen texts")
        yield encode(text, keep)


class Reads(Encoder, Protocol):
    """An encoder that also says what it makes of each token."""

    def read(self, text: str, keep: Keep, deadline: float | None = None) -> Read:
        """Token states and vector of one text. Thread-safe.

        Raises `DeadlineError` when `time.monotonic` is past ``deadline``, and `EncoderError`.
        """


class EmbeddedEncoder:
    """The encoder that comes with the package."""

    def __init__(self, data: Path = DATA) -> None:
        """Load tokenizer and graph from ``data``; about a quarter of a second."""
        # Loaded here, not at import: the client and the question types need neither.
        import onnxruntime
        from tokenizers import Tokenizer

        record = json.loads((data / "encoder.json").read_text())
        self._identity = f"{record['id']}@{record['sha256']['encoder.onnx'][:12]}"
        self._width = int(record["width"])
        self._max_tokens = int(record["max_tokens"])
        self._tokenizer = Tokenizer.from_file(str(data / "tokenizer.json"))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            str(data / "encoder.onnx"), options, providers=["CPUExecutionProvider"]
        )

    @property
    def identity(self) -> str:
        """Name and weights' hash."""
        return self._identity

    @property
    def width(self) -> int:
        """Components of a vector: 384."""
        return self._width

    @property
    def waits(self) -> bool:
        """It computes here."""
        return False

    @property
    def max_tokens(self) -> int:
        """256, with the two special tokens."""
        return self._max_tokens

    def healthy(self) -> bool:
        """It is here."""
        return True

    def tokenise(self, text: str, keep: Keep) -> tuple[list[int], bool]:
        """Token ids with the two special tokens, and whether the text had to be cut."""
        limit = self._max_tokens * CHARACTERS_PER_TOKEN
        cut = len(text) > limit
        if cut:
            text = text[-limit:] if keep == "tail" else text[:limit]
        ids: list[int] = self._tokenizer.encode(text).ids
        room = self._max_tokens - 2
        inner = ids[1:-1]
        if len(inner) > room:
            inner = inner[-room:] if keep == "tail" else inner[:room]
            return [ids[0], *inner, ids[-1]], True
        return ids, cut

    def encode(self, text: str, keep: Keep) -> Encoded:
        """The L2-normalised vector, float32 [384], of one text."""
        ids, truncated = self.tokenise(text, keep)
        vector: Vector = self._session.run(["vector"], {"ids": np.array(ids, np.int64)})[0]
        return Encoded(vector, len(ids), truncated)

    def read(self, text: str, keep: Keep, deadline: float | None = None) -> Read:
        """Token states, float32 [n, 384], and the vector of one text."""
        if deadline is not None and time.monotonic() > deadline:
            raise DeadlineError("no time for an unseen text")
        ids, truncated = self.tokenise(text, keep)
        vector, tokens = self._session.run(["vector", "tokens"], {"ids": np.array(ids, np.int64)})
        return Read(tokens, vector, truncated)

    def encode_many(
        self, items: Sequence[tuple[str, Keep]], deadline: float | None
    ) -> Iterator[Encoded]:
        """One text after the other: a batch would change bits (see the module's text)."""
        return one_by_one(self.encode, items, deadline)
