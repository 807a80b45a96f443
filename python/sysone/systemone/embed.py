"""Requests of ``POST /v1/embeddings``, in OpenAI's shape with vLLM's truncation fields."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from sysone.systemone.encoder import Keep
from sysone.systemone.questions import Fault, Location, RequestError, show

MAX_INPUTS = 2048  # OpenAI's own limit


class EmbeddingRequest(msgspec.Struct, frozen=True):
    """A checked request. ``model`` None means the default encoder."""

    input: list[str]
    model: str | None = None
    encoding_format: Literal["float", "base64"] = "float"
    truncate_prompt_tokens: int | None = None
    keep: Keep = "head"

    def refuse_shorter(self, max_tokens: int) -> None:
        """Raise `RequestError` for a truncation that is shorter than the encoder's own."""
        wanted = self.truncate_prompt_tokens
        if wanted is not None and wanted < max_tokens:
            raise _refused(
                ("body", "truncate_prompt_tokens"),
                f"expected at least {max_tokens}, where this encoder cuts, got {wanted}",
            )


def _refused(loc: Location, message: str) -> RequestError:
    return RequestError([Fault(loc, message, "embedding_request")])


def check_embedding(body: object) -> EmbeddingRequest:
    """Check a body; raises `RequestError` with the first fault."""
    if not isinstance(body, Mapping):
        raise _refused(("body",), f"expected a JSON object, got {show(body)}")
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not 1 <= len(texts) <= MAX_INPUTS:
        raise _refused(
            ("body", "input"), f"expected a text or 1 to {MAX_INPUTS} texts, got {show(given)}"
        )
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise _refused(("body", "input", index), f"expected a text, got {show(text)}")
    model = body.get("model")
    if model is not None and not isinstance(model, str):
        raise _refused(("body", "model"), f"expected a model name, got {show(model)}")
    encoding_format: Any = body.get("encoding_format") or "float"
    if encoding_format not in ("float", "base64"):
        raise _refused(
            ("body", "encoding_format"), f"expected float or base64, got {show(encoding_format)}"
        )
    cut = body.get("truncate_prompt_tokens")
    # vLLM: -1 is the model's own limit.
    if cut is not None and (not isinstance(cut, int) or isinstance(cut, bool) or cut < -1):
        raise _refused(
            ("body", "truncate_prompt_tokens"), f"expected a number of tokens, got {show(cut)}"
        )
    side = body.get("truncation_side") or "right"
    if side not in ("left", "right"):
        raise _refused(("body", "truncation_side"), f"expected left or right, got {show(side)}")
    return EmbeddingRequest(
        texts,
        model,
        encoding_format,
        None if cut == -1 else cut,
        "tail" if side == "left" else "head",
    )
