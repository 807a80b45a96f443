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
from sysone.systemone.client import (
    AsyncCLMClient,
    Check,
    CLMClient,
    CLMError,
    SystemOneError,
)
from sysone.systemone.endpoints import ENDPOINTS, Endpoint, EndpointError, load_env
from sysone.systemone.judge import RETRY_STATUS, Judge, JudgeReply, JudgeStats
from sysone.systemone.local import LocalServerError, local_server
from sysone.systemone.questions import Choice, Noul, Question, RequestError, Score
from sysone.systemone.thresholds import Threshold, fit_threshold

if TYPE_CHECKING:
    from sysone.systemone.engine import Engine, UnknownModelError

__all__ = [
    "ENDPOINTS",
    "RETRY_STATUS",
    "Answer",
    "AsyncCLMClient",
    "CLMClient",
    "CLMError",
    "Check",
    "Choice",
    "ChoiceAnswer",
    "Endpoint",
    "EndpointError",
    "Engine",
    "Judge",
    "JudgeReply",
    "JudgeStats",
    "LocalServerError",
    "Noul",
    "NoulAnswer",
    "Question",
    "RequestError",
    "Score",
    "ScoreAnswer",
    "SystemOneError",
    "SystemOneResponse",
    "Threshold",
    "UnknownModelError",
    "Usage",
    "fit_threshold",
    "load_env",
    "local_server",
]


def __getattr__(name: str) -> Any:
    if name in ("Engine", "UnknownModelError"):
        from sysone.systemone import engine

        return getattr(engine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
