"""What the server sends back: answers, and errors in the contract's object form."""

import base64
import logging
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sysone.systemone.body import BodyError
from sysone.systemone.embed import EmbeddingRequest
from sysone.systemone.encoder import DeadlineError, EncoderError
from sysone.systemone.engine import UnknownModelError
from sysone.systemone.questions import RequestError

RETRY_AFTER = (b"retry-after", b"1")
"""In seconds."""

_ERROR_TYPES = {404: "not_found_error", 405: "method_not_allowed_error"}

_log = logging.getLogger("sysone.systemone")


class Reply(NamedTuple):
    """What goes back."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    error_type: str | None = None


class ApiError(Exception):
    """An error in the object form of the contract."""

    def __init__(
        self,
        status: int,
        error_type: str,
        message: str,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        """Keep what the reply needs."""
        super().__init__(message)
        self.status = status
        self.error_type = error_type
        self.headers = headers


def error_reply(
    status: int, error_type: str, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> Reply:
    """An error in the object form of the contract."""
    body = msgspec.json.encode({"detail": {"error_type": error_type, "message": message}})
    return Reply(status, body, headers, error_type)


STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}


def embedding_body(request: EmbeddingRequest, model: str, rows: Any, tokens: int) -> bytes:
    """Vectors (N, width) in OpenAI's form: numbers, or Base64 of little-endian float32."""
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": (
                base64.b64encode(row.astype("<f4").tobytes()).decode()
                if request.encoding_format == "base64"
                else row.tolist()
            ),
        }
        for index, row in enumerate(rows)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return msgspec.json.encode({"object": "list", "data": data, "model": model, "usage": usage})


def reply_to(error: Exception, time_limit_s: float) -> Reply:
    """What goes back instead of an answer; what is not foreseen is logged."""
    match error:
        case RequestError():
            body = msgspec.json.encode({"detail": error.faults})
            return Reply(422, body, error_type="invalid_request_error")
        case ApiError():
            return error_reply(error.status, error.error_type, str(error), error.headers)
        case BodyError():
            # What is left of the body must not be read as the next request.
            headers = [(b"connection", b"close")]
            if error.status == 529:
                headers.append(RETRY_AFTER)
            return error_reply(error.status, error.error_type, str(error), tuple(headers))
        case UnknownModelError():
            return error_reply(404, "not_found_error", str(error))
        case DeadlineError():
            message = f"not answered within {time_limit_s:g} s: {error}; ask less at once"
            return error_reply(413, "request_too_large", message)
        case EncoderError():
            _log.warning("encoder: %s", error)
            return error_reply(502, "upstream_error", str(error))
    _log.error("a request failed", exc_info=error)
    return error_reply(500, "internal_error", "the server failed; its log says why")


def unauthorised(message: str) -> ApiError:
    """No key, or a wrong one."""
    return ApiError(401, "authentication_error", message, ((b"www-authenticate", b"Bearer"),))


def overloaded(message: str) -> ApiError:
    """Too much is waiting: come back later."""
    return ApiError(529, "overloaded_error", message, (RETRY_AFTER,))


def json_response(content: Any, status: int = 200) -> Response:
    """Anything that msgspec can write."""
    return Response(msgspec.json.encode(content), status, media_type="application/json")


def starlette_response(reply: Reply) -> Response:
    """A reply as Starlette has it."""
    response = Response(reply.body, reply.status, media_type="application/json")
    for name, value in reply.headers:
        response.headers[name.decode()] = value.decode()
    return response


async def method_not_allowed(_: Request) -> Response:
    """Refuse a method that the path does not know."""
    raise HTTPException(405)


async def http_error(_: Request, error: Exception) -> Response:
    """Starlette's own errors in the contract's form."""
    assert isinstance(error, HTTPException)
    status = error.status_code
    reply = error_reply(status, _ERROR_TYPES.get(status, "invalid_request_error"), error.detail)
    response = starlette_response(reply)
    response.headers.update(error.headers or {})
    return response
