"""The HTTP parser's own refusals, in the contract's form."""

from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class JsonProtocol(HttpToolsProtocol):
    """As uvicorn's, but what is no HTTP is refused in JSON, as everything else is."""

    transport: Any

    def send_400_response(self, msg: str) -> None:
        """Refuse and hang up."""
        body = msgspec.json.encode(
            {"detail": {"error_type": "invalid_request_error", "message": msg}}
        )
        head = (
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        )
        self.transport.write(head + body)
        self.transport.close()
