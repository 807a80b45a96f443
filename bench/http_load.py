"""Clients that cost little: prepared requests on kept connections, one thread for all of them."""

import json
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns


def request_bytes(body: object, path: str = "/v1/systemone") -> bytes:
    content = json.dumps(body).encode()
    return (
        f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    ).encode() + content


# Servers close what has been idle for about five seconds.
IDLE_NS = 2_000_000_000


class Connection:
    """One kept-alive connection; a reply is read to its announced length."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._connect()

    def _connect(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.used_ns = perf_counter_ns()

    def wake(self) -> None:
        """Connect anew if the server may have closed the connection meanwhile."""
        if perf_counter_ns() - self.used_ns > IDLE_NS:
            self.close()
            self._connect()
        self.used_ns = perf_counter_ns()

    def ask(self, request: bytes) -> bytes:
        self.socket.sendall(request)
        reply = self.socket.recv(1 << 16)
        while not complete(reply):
            more = self.socket.recv(1 << 16)
            if not more:
                raise ConnectionError("the server hung up")
            reply += more
        return reply

    def close(self) -> None:
        self.socket.close()


def complete(reply: bytes) -> bool:
    head, blank, body = reply.partition(b"\r\n\r\n")
    if not blank:
        return False
    length = head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
    return len(body) >= int(length)


def in_parallel(connections: list[Connection], request: bytes, rounds: int) -> list[float]:
    """Each connection asks ``rounds`` times, all at once; every latency in ns."""
    latencies = []
    for connection in connections:
        connection.wake()
    with selectors.DefaultSelector() as selector:
        left = dict.fromkeys(connections, rounds)
        sent = {}
        received = dict.fromkeys(connections, b"")
        for connection in connections:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            connection.socket.sendall(request)
            sent[connection] = perf_counter_ns()
        while any(left.values()):
            for key, _ in selector.select():
                connection = key.data
                more = connection.socket.recv(1 << 16)
                if not more:
                    raise ConnectionError("the server hung up")
                received[connection] += more
                if not complete(received[connection]):
                    continue
                latencies.append(float(perf_counter_ns() - sent[connection]))
                received[connection] = b""
                left[connection] -= 1
                if left[connection]:
                    connection.socket.sendall(request)
                    sent[connection] = perf_counter_ns()
    return latencies


@contextmanager
def server(which: str) -> Iterator[int]:
    """A server of `bench.systemone_servers`; yields its port."""
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.systemone_servers", which], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        yield int(child.stdout.readline())
    finally:
        child.terminate()
        child.wait()
        child.stdout.close()
