"""System One strategies: what is asked, what is done with the answers, what a fault costs."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sysone.arena import lineup, match, sources
from sysone.arena.batch.jobs import jobs_of
from sysone.arena.batch.options import resolve
from sysone.arena.engine import Setup, Team
from sysone.arena.errors import ArenaError

PATIENT = match.Limits(timeout_s=30, startup_s=120)


class Endpoint:
    """Answers every question with one stance, after ``faults`` refusals."""

    def __init__(self, stance: str = "push", faults: int = 0) -> None:
        self.stance = stance
        self.faults = faults
        self.requests: list[dict[str, Any]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append(body)
                if endpoint.faults > 0:
                    endpoint.faults -= 1
                    self.reply(503, {"error": {"message": "warming up"}})
                    return
                answers = {
                    name: {
                        "type": "choice",
                        "choice": endpoint.stance,
                        "confidence": 1.0,
                        "probabilities": {
                            option: float(option == endpoint.stance)
                            for option in question["criteria"]
                        },
                    }
                    for name, question in body["questions"].items()
                }
                self.reply(200, {"model": "stand-in", "answers": answers})

            def reply(self, status: int, value: Any) -> None:
                content = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    found = Endpoint()
    yield found
    found.close()


def play(ref: str, season: Any = "2027", seconds: float = 1.0) -> dict[str, Any]:
    sides: dict[Team, match.Side] = {
        "red": match.Side("team", {0: sources.asking(ref, season)}),
        "blue": match.Side("team", {0: sources.find(f"bundled:std_{season}_hold")}),
    }
    lines = dict.fromkeys(sides, lineup.default(season))
    return match.play(Setup(season, 1, lines, duration_s=seconds), sides, PATIENT).result


@pytest.mark.parametrize("season", ["2026", "2027"])
def test_every_armed_robot_is_a_question_at_every_decision(endpoint: Endpoint, season: str) -> None:
    result = play(f"systemone:{endpoint.url}#fast", season)
    assert result["status"] == "ok", result["strategies"]["red"]
    assert len(endpoint.requests) == 10
    red = result["strategies"]["red"]
    assert red["key"] == f"systemone_{season}"
    assert red["decision_ms"]["p50"] > 0, "what the model cost is in the result"
    for request in endpoint.requests:
        assert request["model"] == "fast"
        assert "Our base 5000" in request["state"]
        assert len(request["questions"]) >= 3
        for question in request["questions"].values():
            assert question["type"] == "choice"
            assert list(question["criteria"]) == ["push", "hold", "retreat"]
            assert "percent health" in question["instructions"]


def test_what_the_model_says_is_done(endpoint: Endpoint) -> None:
    digests = set()
    for stance in ("push", "hold", "retreat"):
        endpoint.stance = stance
        digests.add(play(f"systemone:{endpoint.url}", seconds=2.0)["digest"])
    assert len(digests) == 3


def test_a_fault_of_the_endpoint_is_an_error_of_the_strategy(endpoint: Endpoint) -> None:
    endpoint.faults = 3
    result = play(f"systemone:{endpoint.url}")
    assert result["status"] == "strategy_error"
    red = result["strategies"]["red"]
    assert red["errors"] == {"exception": 3}
    assert "HTTP 503" in red["first_errors"][0]["detail"]
    assert result["ticks"] == 20


def test_no_endpoint_at_all() -> None:
    result = play("systemone:http://127.0.0.1:9")
    assert result["strategies"]["red"]["errors"] == {"exception": 10}
    assert result["strategies"]["blue"]["errors"] == {}


def test_endpoint_and_model_are_part_of_who_plays() -> None:
    def job(ref: str, **given: Any) -> Any:
        (found,) = jobs_of(resolve({"isolation": "none", "red": ref, **given}))
        return found

    one = job("systemone:http://127.0.0.1:8700")
    assert one.pairing.told["red"]["ref"] == "systemone:http://127.0.0.1:8700"
    assert one.setup.season == "2027"
    assert job("systemone:http://127.0.0.1:8700", blue="std_2026_rush").setup.season == "2026"
    others = {
        job(f"systemone:{rest}").job_id
        for rest in ("http://127.0.0.1:8700", "http://127.0.0.1:8701", "http://127.0.0.1:8700#trex")
    }
    assert len(others) == 3
    assert one.job_id in others


@pytest.mark.parametrize("ref", ["systemone:", "systemone:here", "systemone:ftp://host/"])
def test_what_is_no_address_is_refused(ref: str) -> None:
    with pytest.raises(ArenaError, match="expected systemone:http"):
        jobs_of(resolve({"isolation": "none", "red": ref}))
