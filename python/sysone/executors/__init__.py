"""Where independent pieces of work run, behind one interface; all worlds share it."""

from sysone.executors.base import ATTEMPTS, EngineError, Executor, Finished, Work
from sysone.executors.choose import ENGINES, Engine, executor_of
from sysone.executors.collect import collect, results
from sysone.executors.installation import installation
from sysone.executors.local import LocalExecutor, processors

__all__ = [
    "ATTEMPTS",
    "ENGINES",
    "Engine",
    "EngineError",
    "Executor",
    "Finished",
    "LocalExecutor",
    "Work",
    "collect",
    "executor_of",
    "installation",
    "processors",
    "results",
]
