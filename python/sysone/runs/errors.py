"""The one error that a command shows as a single line instead of a traceback."""

import os
from pathlib import Path


class RunError(Exception):
    """A run cannot go on, for a reason that its user can see and mend; the text is one line."""


def unwritable(path: Path, error: OSError) -> RunError:
    """``error`` in words that name the file that was asked for, not a temporary one beside it."""
    if isinstance(error, FileExistsError | NotADirectoryError):
        return RunError(f"cannot write {path}: a file stands where a folder is needed")
    return RunError(f"cannot write {path}: {_reason(error)}")


def unreadable(path: str | os.PathLike[str], error: OSError) -> RunError:
    """``error`` in words that name the file."""
    return RunError(f"cannot read {os.fspath(path)}: {_reason(error)}")


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno is not None else str(error)
