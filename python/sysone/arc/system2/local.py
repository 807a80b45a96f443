"""System-2 in this process: a vision-language model of transformers that generates its answer."""

import base64
import io
import threading
import time
from pathlib import Path
from typing import Any, Final

from sysone.arc.system2.transport import CallError
from sysone.runs.errors import RunError

NEW_TOKENS: Final = 512
PREFIX: Final = "data:image/"


class TransformersChat:
    """One model behind a lock; messages have the chat form with pictures as data URLs."""

    def __init__(
        self, model: str, *, device: str = "", new_tokens: int = NEW_TOKENS, force: bool = False
    ) -> None:
        """Load a folder or a name of a hub; its need of memory is said on stderr before.

        Raises:
            RunError: it cannot be loaded, or cannot fit and ``force`` is not given.
        """
        import torch

        from sysone.arc.system1.hf import HfBackend
        from sysone.arc.system1.room import check_room

        self._torch: Any = torch
        place = device or ("cuda" if torch.cuda.is_available() else "cpu")
        check_room(f"System-2 {model}", model, place, force)
        # The same packer and loader as System-1's large backend.
        self._backend = HfBackend(model, device=place)
        self._backend.module.eval()
        self.model = Path(model).name if Path(model).is_dir() else model
        self.new_tokens = new_tokens
        self._lock = threading.Lock()

    def __call__(
        self, messages: list[dict[str, Any]], left_s: float, new_tokens: int | None = None
    ) -> str:
        """The model's greedy answer, cut off when the time is over.

        Raises:
            CallError: a message cannot be read, or the device has no memory left.
        """
        pictures, text = flatten(messages)
        with self._lock, self._torch.inference_mode():
            try:
                return self._backend.generate(
                    pictures, text, new_tokens or self.new_tokens, time.monotonic() + left_s
                )
            except (RuntimeError, ValueError) as error:
                raise CallError(f"generation failed: {error}") from None


def flatten(messages: list[dict[str, Any]]) -> tuple[list[Any], list[str]]:
    """Pictures of a chat, and its text cut where each of them stands, with role marks.

    Raises:
        CallError: a part has another form, or a picture is not a data URL that can be read.
    """
    pictures: list[Any] = []
    texts = [""]
    for message in messages:
        if not isinstance(message, dict) or "role" not in message:
            raise CallError("a message has no role")
        texts[-1] += f"<|im_start|>{message['role']}\n"
        content = message.get("content", "")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts if isinstance(parts, list) else []:
            kind = part.get("type") if isinstance(part, dict) else None
            if kind == "text" and isinstance(part.get("text"), str):
                texts[-1] += part["text"]
            elif kind == "image_url":
                pictures.append(read_picture(part.get("image_url")))
                texts.append("")
            else:
                raise CallError(f"a part of a message is {kind!r}, expected text or image_url")
        texts[-1] += "<|im_end|>\n"
    texts[-1] += "<|im_start|>assistant\n"
    return pictures, texts


def read_picture(value: Any) -> Any:
    """The picture of a data URL.

    Raises:
        CallError: it is none; nothing is fetched from elsewhere.
    """
    from PIL import Image

    url = value.get("url") if isinstance(value, dict) else value
    if not isinstance(url, str) or not url.startswith(PREFIX) or ";base64," not in url:
        raise CallError("a picture is no data URL in base64")
    try:
        raw = base64.b64decode(url.partition(";base64,")[2], validate=True)
        return Image.open(io.BytesIO(raw)).convert("RGB")
    except (ValueError, OSError) as error:
        raise CallError(f"a picture cannot be read: {error}") from None


def chat_of(model: str, device: str = "", force: bool = False) -> TransformersChat:
    """The chat of a model.

    Raises:
        RunError: it cannot be loaded, or cannot fit and ``force`` is not given.
    """
    if not model:
        raise RunError("--model is empty, expected a folder or a name")
    return TransformersChat(model, device=device, force=force)
