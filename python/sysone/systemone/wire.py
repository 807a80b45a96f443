"""Request bodies to data, strictly: what JSON forbids or leaves open is refused, never guessed."""

import json
import math
import re
from typing import Any, NoReturn

from sysone.systemone.questions import Fault, RequestError, show

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_body(raw: bytes | bytearray) -> Any:
    """The JSON value of a UTF-8 body.

    Raises `RequestError` for broken UTF-8 or JSON, duplicate keys, NaN, numbers that are out of
    range, lone surrogates, and nesting that is too deep.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused(f"the body is not UTF-8: byte {error.start}") from None
    try:
        value = _decode(text)
    except RequestError:
        raise
    except json.JSONDecodeError as error:
        raise _refused(f"the body is not JSON: {error}") from None
    except RecursionError:
        raise _refused("the body is nested too deeply") from None
    except ValueError:
        # int() refuses digits by the thousand, as CPython's guard against quadratic time.
        raise _refused("the body has a number that is out of range") from None
    # Only an escape can bring one in; the plain text is valid UTF-8.
    if "\\u" in text and _has_lone_surrogate(value):
        raise _refused("the body has an escaped lone surrogate, which is not Unicode text")
    return value


def _refused(message: str) -> RequestError:
    return RequestError([Fault(("body",), message, "json_invalid")])


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    items = dict(pairs)
    if len(items) != len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise _refused(f"the key {show(key)} appears twice in one object")
            seen.add(key)
    return items


def _refuse_constant(name: str) -> NoReturn:
    raise _refused(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _refused(f"the number {show(text)} is out of range")
    return number


def _has_lone_surrogate(value: Any) -> bool:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if _LONE_SURROGATE.search(item):
                return True
        elif isinstance(item, dict):
            pending.extend(item)
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    return False


# Made once: `json.loads` would make one for every body.
_decode = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite
).decode
