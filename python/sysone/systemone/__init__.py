"""System One: typed decisions over HTTP and in process.

The client side (`CLMClient`, the question types) loads neither numpy nor a model; the engine
does, when its name is first used.
"""

from typing import TYPE_CHECKING, Any

from sysone.systemone.answers import (
    Answer,
    ChoiceAnswer,
    NoulAnswer,
    ScoreAnswer,
    SystemOneResponse,
    Usage,
)
from sysone.systemone.client import Check, CLMClient, SystemOneError
from sysone.systemone.endpoints import ENDPOINTS, Endpoint, EndpointError, load_env
from sysone.systemone.local import LocalServerError, local_server
from sysone.systemone.questions import Choice, Noul, Question, RequestError, Score

if TYPE_CHECKING:
    from sysone.systemone.engine import Engine, UnknownModelError

__all__ = [
    "ENDPOINTS",
    "Answer",
    "CLMClient",
    "Check",
    "Choice",
    "ChoiceAnswer",
    "Endpoint",
    "EndpointError",
    "Engine",
    "LocalServerError",
    "Noul",
    "NoulAnswer",
    "Question",
    "RequestError",
    "Score",
    "ScoreAnswer",
    "SystemOneError",
    "SystemOneResponse",
    "UnknownModelError",
    "Usage",
    "load_env",
    "local_server",
]


def __getattr__(name: str) -> Any:
    if name in ("Engine", "UnknownModelError"):
        from sysone.systemone import engine

        return getattr(engine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
