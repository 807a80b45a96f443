"""What CLM's own client puts on the wire, recorded for the tests.

    pip install --no-deps contrastive-lm==0.1.0 requests      # in an environment of its own
    python tools/clm/record_calls.py tests/data/systemone/clm_client_calls.json

The calls are ours, one of each kind; what is recorded is how the client words them.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import clm

USAGE = {"billing_units": 1, "input_tokens": 0, "output_tokens": 0}
EVEN = {"0": 0.5, "1": 0.5}
ANSWERS: dict[str, dict[str, Any]] = {
    "noul": {"type": "noul", "noul": 0.5},
    "choice": {"type": "choice", "choice": "go", "confidence": 0.0, "probabilities": {"go": 1.0}},
    "score": {
        "type": "score",
        "score": 0.5,
        "confidence": 0.0,
        "probabilities": EVEN,
        "legend": {"0": "none", "1": "much"},
    },
}
calls: list[dict[str, Any]] = []


class Recorder(BaseHTTPRequestHandler):
    """Answers as a server would, and keeps what was asked."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Silent."""

    def answer(self) -> None:
        """Keep the call and reply."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        headers = [[name, value] for name, value in self.headers.items() if name != "Host"]
        calls.append({"method": self.command, "path": self.path, "headers": headers, "body": body})
        reply = json.dumps(self.content(body)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.send_header("X-CLM-Latency-Ms", "1.0")
        self.end_headers()
        self.wfile.write(reply)

    def content(self, body: str) -> dict[str, Any]:
        """A reply of the right shape."""
        if self.path == "/v1/systemone":
            questions = json.loads(body)["questions"]
            answers = {name: ANSWERS[item["type"]] for name, item in questions.items()}
            return {"model": "m", "answers": answers, "usage": USAGE}
        if self.path == "/v1/rank":
            return {"model": "m", "ranked": [{"rank": 1, "candidate": "a", "prob": 1.0}]}
        return {"models": []} if self.path == "/v1/models" else {"ok": True}

    do_GET = do_POST = answer  # noqa: N815  # the names are the library's


def record(url: str) -> None:
    """One call of each kind."""
    with clm.CLMClient(base_url=url, api_key="k") as client:
        client.system_one(
            {"ticket": "Late again", "lines": [1, 2.5, None, True]},
            {
                "late": clm.Noul("Is it late?"),
                "one side": clm.Noul(criteria={"true": "Late"}),
                "go": clm.Choice({"go": None, "stop": "Red"}, "What now?"),
                "bare": clm.Choice({"go": "Grün", "stop": None}),
                "hurry": clm.Score(["none", "much"], "How?"),
                "plain": {"type": "choice", "criteria": {"go": None, "stop": None}},
            },
            temperature=2.0,
        )
        client.system_one("text", {"q": clm.Noul("?")})
        client.system_one(
            ["a", "b"],
            {"q": clm.Choice({"go": {"what": "to move"}, "stop": ["halt"]}, {"ask": "which"})},
            model="default",
        )
        client.rank("context", "which?", ["a", "b"])
        client.rank("context", None, ["a", "b"], temperature=0.5)
        client.models()
        client.health()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    record(f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    text = json.dumps({"client": "contrastive-lm 0.1.0", "calls": calls}, indent=1)
    Path(sys.argv[1]).write_text(text + "\n")
