"""An OpenAI-style embeddings endpoint on loopback, with faults on demand."""

import base64
import hashlib
import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

WIDTH = 32


def embed(text: str, width: int = WIDTH) -> np.ndarray:
    """What the endpoint makes of a text: a fixed random vector, not normalised."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    return np.random.default_rng(seed).standard_normal(width).astype(np.float32)


class EmbeddingServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.width = WIDTH
        self.fault: str | None = None
        self.as_lists = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/embeddings"

    @property
    def texts(self) -> list[str]:
        return [text for request in self.requests for text in request["input"]]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: EmbeddingServer

    def log_message(self, *_: object) -> None:
        pass

    def _reply(self, status: int, body: object) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self) -> None:
        self._reply(200 if self.path == "/v1/models" else 404, {"data": []})

    def do_POST(self) -> None:
        server = self.server
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.requests.append(request)
        server.keys.append(self.headers.get("Authorization"))
        limit = request["truncate_prompt_tokens"]
        data = []
        tokens = 0
        for index, text in enumerate(request["input"]):
            words = text.split()
            if len(words) > limit:
                left = request["truncation_side"] == "left"
                words = words[-limit:] if left else words[:limit]
                text = " ".join(words)
            tokens += len(words)
            vector = embed(text, server.width)
            data.append({"index": index, "embedding": self._number_format(vector)})
        # By index, not by position.
        random.Random(len(data)).shuffle(data)
        match server.fault:
            case "status":
                return self._reply(503, {"error": {"message": "warming up"}})
            case "json":
                return self._reply(200, b"{")
            case "count":
                data.pop()
            case "index":
                data[0]["index"] = 99
            case "nan":
                data[0]["embedding"] = [float("nan")] * server.width
                raw = json.dumps({"data": data}).replace("NaN", "1e999").encode()
                return self._reply(200, raw)
            case "zero":
                data[0]["embedding"] = [0.0] * server.width
            case "base64":
                data[0]["embedding"] = "not base64!"
            case "ragged":
                data[0]["embedding"] = base64.b64encode(b"12345").decode()
        return self._reply(200, {"data": data, "usage": {"prompt_tokens": tokens}})

    def _number_format(self, vector: np.ndarray) -> Any:
        if self.server.as_lists:
            return vector.tolist()
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    server = EmbeddingServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
