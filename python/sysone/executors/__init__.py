"""Where independent pieces of work run, behind one interface; all worlds share it."""

from sysone.executors.base import Executor, Finished, Work
from sysone.executors.local import LocalExecutor, processors

__all__ = ["Executor", "Finished", "LocalExecutor", "Work", "processors"]
