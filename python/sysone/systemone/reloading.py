"""A model that follows its file: a changed file is loaded beside the old one and swapped in."""

import hashlib
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from sysone.systemone.embeddings import Embeddings
from sysone.systemone.heads import HeadError
from sysone.systemone.models import DecisionModel, ModelEntry, Scored
from sysone.systemone.questions import Question
from sysone.systemone.torch_file import TorchFileError

POLL_S = 1.0

_log = logging.getLogger("sysone.systemone")


class ReloadingModel:
    """A decision model behind a file that may change while it serves.

    A file that cannot be loaded leaves the model before it serving; ``error`` says why. Every
    model brings caches of its own, so that no vector outlives the weights that made it.
    """

    def __init__(self, path: Path, load: Callable[[], DecisionModel]) -> None:
        """Load now; raises what ``load`` does."""
        self._path = path
        self._load = load
        self._lock = threading.Lock()
        self._stamp = self._read_stamp()
        self._digest = self._read_digest()
        self._inner = load()
        self.generation = 1
        self.error: str | None = None

    def _files(self) -> list[Path]:
        """The file, and the weights beside it where it is a record."""
        weights = self._path.with_suffix(".safetensors")
        return [self._path, weights] if self._path.suffix == ".json" else [self._path]

    def _read_stamp(self) -> list[tuple[int, int]]:
        found = []
        for path in self._files():
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            found.append((status.st_mtime_ns, status.st_size))
        return found

    def _read_digest(self) -> bytes:
        digest = hashlib.sha256()
        for path in self._files():
            if path.exists():
                digest.update(path.read_bytes())
        return digest.digest()

    def refresh(self) -> bool:
        """Look at the file and load it if it has changed; whether a new model serves."""
        with self._lock:
            try:
                stamp = self._read_stamp()
                if stamp == self._stamp:
                    return False
                digest = self._read_digest()
                self._stamp = stamp
                if digest == self._digest and self.error is None:
                    return False
                self._digest = digest
                inner = self._load()
            except (OSError, HeadError, TorchFileError) as error:
                self.error = str(error)
                _log.warning("%s: kept the model before: %s", self.entry.name, error)
                return False
            self._inner = inner
            self.generation += 1
            self.error = None
            _log.info("%s: now %s", self.entry.name, inner.version)
            return True

    @property
    def entry(self) -> ModelEntry:
        """Name and description for the model list."""
        return self._inner.entry

    @property
    def version(self) -> str:
        """Of the weights that serve now."""
        return self._inner.version

    @property
    def embeddings(self) -> Embeddings | None:
        """The encoder behind it."""
        return self._inner.embeddings

    @property
    def waits(self) -> bool:
        """As the model does."""
        return self._inner.waits

    def healthy(self) -> bool:
        """As the model is."""
        return self._inner.healthy()

    def statistics(self) -> dict[str, dict[str, float]]:
        """Of the caches in use."""
        return self._inner.statistics()

    def snapshot(self) -> DecisionModel:
        """The model that serves now, for the length of one request."""
        return self._inner

    def score(self, state: object, question: Question, *, cached: bool = False) -> Scored | None:
        """As the model that serves now does."""
        return self._inner.score(state, question, cached=cached)

    def score_all(
        self,
        state: object,
        questions: Sequence[Question],
        *,
        cached: bool = False,
        deadline: float | None = None,
    ) -> list[Scored] | None:
        """As the model that serves now does."""
        return self._inner.score_all(state, questions, cached=cached, deadline=deadline)


class Watcher:
    """A thread that refreshes models until it is closed."""

    def __init__(self, models: Sequence[ReloadingModel], interval_s: float = POLL_S) -> None:
        """Start at once."""
        self._models = models
        self._closed = threading.Event()
        self._interval_s = interval_s
        self._thread = threading.Thread(target=self._run, name="systemone-reload", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closed.wait(self._interval_s):
            for model in self._models:
                model.refresh()

    def close(self) -> None:
        """Stop and wait for the thread."""
        self._closed.set()
        self._thread.join()
