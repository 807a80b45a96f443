"""Options that take JSON: the text itself, or a file that holds it."""

import json
from pathlib import Path
from typing import Any

from sysone.arena.errors import ArenaError


def object_of(text: str, what: str) -> Any:
    """JSON from an option: the text itself, or a file that it names.

    Raises:
        ArenaError: neither is JSON.
    """
    stripped = text.lstrip()
    try:
        if stripped.startswith(("{", "[")):
            return json.loads(text)
        return json.loads(Path(text).read_text(encoding="utf-8"))
    except OSError as error:
        raise ArenaError("usage", f"{what}: {text}: {error.strerror}") from error
    except ValueError as error:
        raise ArenaError("usage", f"{what} is not JSON: {error}") from error
