"""The servers that the HTTP benches compare, each in a process of its own.

    python -m bench.systemone_servers ours|twin

Both answer with a model that makes a zero of every candidate. The twin is what one writes first:
FastAPI, the contract as pydantic models, the model in the default executor, a JSON reply.
"""

import asyncio
import math
import sys
import time
from typing import Annotated, Any, Literal

from sysone.systemone.models import ModelEntry, Scored

HOST = "127.0.0.1"


class NoopModel:
    """Every candidate is as likely as the next."""

    version = "noop@1"
    embeddings = None
    waits = False

    def __init__(self) -> None:
        self.entry = ModelEntry("noop", "Answers at once", "2026-01-01")

    def healthy(self) -> bool:
        return True

    def statistics(self) -> dict[str, dict[str, float]]:
        return {}

    def score_all(
        self, state: object, questions: Any, *, cached: bool = False, deadline: float | None = None
    ) -> Any:
        return [Scored([0.0] * len(question.criteria), 0, False) for question in questions]


def twin() -> Any:
    """The same work with a framework's own means: pydantic checks, the executor, a JSON reply."""
    from fastapi import FastAPI
    from fastapi.responses import JSONResponse
    from pydantic import BaseModel, Field

    text = str | dict[str, Any] | list[Any]

    class Choice(BaseModel):
        type: Literal["choice"]
        instructions: text | None = None
        criteria: dict[str, text | None] = Field(min_length=1, max_length=4096)

    class Score(BaseModel):
        type: Literal["score"]
        instructions: text | None = None
        criteria: list[text] = Field(min_length=1, max_length=10)

    class Noul(BaseModel):
        type: Literal["noul"]
        instructions: text | None = None
        criteria: dict[Literal["true", "false"], text | None] | None = None

    class Body(BaseModel):
        state: text
        questions: dict[str, Annotated[Choice | Score | Noul, Field(discriminator="type")]]
        model: str | None = None
        temperature: float = Field(1.0, gt=0, le=100, allow_inf_nan=False)

    app = FastAPI()

    def answer(body: Body) -> dict[str, Any]:
        answers = {}
        for name, question in body.questions.items():
            assert isinstance(question, Choice)
            logits = [0.0] * len(question.criteria)
            weights = [math.exp((x - max(logits)) / body.temperature) for x in logits]
            found = [weight / sum(weights) for weight in weights]
            top = max(range(len(found)), key=found.__getitem__)
            even = 1 / len(found)
            answers[name] = {
                "type": "choice",
                "choice": list(question.criteria)[top],
                "confidence": (found[top] - even) / (1 - even) if len(found) > 1 else 1.0,
                "probabilities": dict(zip(question.criteria, found, strict=True)),
            }
        usage = {"input_tokens": 0, "output_tokens": 0, "billing_units": len(answers)}
        return {"model": "noop@1", "answers": answers, "usage": usage}

    @app.post("/v1/systemone")
    async def systemone(body: Body) -> JSONResponse:
        started = time.perf_counter()
        found = await asyncio.get_running_loop().run_in_executor(None, answer, body)
        latency_ms = (time.perf_counter() - started) * 1000
        return JSONResponse(found, headers={"X-CLM-Latency-Ms": f"{latency_ms:.1f}"})

    return app


def main(which: str) -> None:
    import uvicorn

    from sysone.systemone.engine import Engine
    from sysone.systemone.serving import bind, make_server

    listener = bind(HOST, 0)
    print(listener.getsockname()[1], flush=True)
    if which == "ours":
        server = make_server(Engine([NoopModel()]))  # type: ignore[list-item]
    else:
        # uvicorn's fastest settings, as for ours.
        server = uvicorn.Server(
            uvicorn.Config(
                twin(),
                log_level="warning",
                access_log=False,
                lifespan="off",
                server_header=False,
                date_header=False,
            )
        )
    server.run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1])
