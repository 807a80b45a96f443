"""Answers on disk: one sqlite file that several processes may share."""

import hashlib
import os
import sqlite3
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import msgspec

BUSY_TIMEOUT_S = 5.0

_TABLES = """
CREATE TABLE IF NOT EXISTS answers
  (key BLOB PRIMARY KEY, model TEXT NOT NULL, reply BLOB NOT NULL, time REAL NOT NULL)
  WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS models
  (alias BLOB PRIMARY KEY, model TEXT NOT NULL, time REAL NOT NULL) WITHOUT ROWID;
"""


class AnswerCacheWarning(UserWarning):
    """The file cannot be used; everything is asked anew."""


def key_of(*parts: Any) -> bytes:
    """SHA-256 of parts in canonical form; the order inside objects counts."""
    return hashlib.sha256(msgspec.json.encode(parts)).digest()


class AnswerCache:
    """Key to reply. A file that cannot be used degrades to no cache with one warning."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open or make the file."""
        self._path = Path(path)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = sqlite3.connect(
                self._path, timeout=BUSY_TIMEOUT_S, check_same_thread=False, isolation_level=None
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.executescript(_TABLES)
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        warnings.warn(
            f"{self._path}: answers are not cached: {error}", AnswerCacheWarning, stacklevel=4
        )

    def _run(self, statement: str, *values: Any) -> list[Any]:
        with self._lock:
            if self._connection is None:
                return []
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                self._give_up(error)
                return []

    def get(self, key: bytes) -> bytes | None:
        """The stored reply."""
        rows = self._run("SELECT reply FROM answers WHERE key = ?", key)
        return rows[0][0] if rows else None

    def put(self, key: bytes, model: str, reply: bytes) -> None:
        """Store or replace a reply; ``model`` is the name that it carries."""
        self._run(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", key, model, reply, time.time()
        )

    def model(self, alias: bytes) -> str | None:
        """What an alias was last resolved to."""
        rows = self._run("SELECT model FROM models WHERE alias = ?", alias)
        return rows[0][0] if rows else None

    def put_model(self, alias: bytes, model: str) -> None:
        """Remember what an alias means."""
        self._run("INSERT OR REPLACE INTO models VALUES (?, ?, ?)", alias, model, time.time())

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
