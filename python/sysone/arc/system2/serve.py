"""``sysone arc serve-system2``: a local model behind an OpenAI-compatible endpoint."""

import time
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from sysone.arc.system2.local import TransformersChat
from sysone.arc.system2.transport import CallError

MAX_BODY: Final = 16 << 20
CALL_S: Final = 300.0


def make_app(chat: TransformersChat) -> Starlette:
    """The application: models, chat completions and health."""

    async def models(_: Request) -> JSONResponse:
        entry = {"id": chat.model, "object": "model", "owned_by": "sysone"}
        return JSONResponse({"object": "list", "data": [entry]})

    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def completions(request: Request) -> JSONResponse:
        if int(request.headers.get("content-length", 0)) > MAX_BODY:
            return _refused(413, f"the body is longer than {MAX_BODY} bytes")
        try:
            body: Any = await request.json()
        except ValueError:
            return _refused(400, "the body is no JSON")
        messages = body.get("messages") if isinstance(body, dict) else None
        if not isinstance(messages, list) or not messages:
            return _refused(400, "messages is missing, expected a list")
        if body.get("stream"):
            return _refused(400, "stream is not offered")
        wanted = body.get("max_tokens", chat.new_tokens)
        if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 1:
            return _refused(400, f"max_tokens is {wanted!r}, expected 1 or more")
        try:
            text = await run_in_threadpool(chat, messages, CALL_S, min(wanted, chat.new_tokens))
        except CallError as error:
            return _refused(400, str(error))
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return JSONResponse(
            {
                "id": f"chatcmpl-{time.time_ns():x}",
                "object": "chat.completion",
                "created": int(time.time()),
                "model": chat.model,
                "choices": [choice],
            }
        )

    return Starlette(
        routes=[
            Route("/v1/models", models),
            Route("/health", health),
            Route("/v1/chat/completions", completions, methods=["POST"]),
        ]
    )


def _refused(status: int, text: str) -> JSONResponse:
    return JSONResponse({"error": {"message": text, "type": "invalid_request"}}, status)
