"""Bodies of System One requests: content encoding, JSON, questions.

Input: a byte for the content encoding, then the body.

Properties: nothing but `RequestError` and `BodyError` leaves, with a status that is documented;
what is accepted is what Python's own JSON reader makes of it; a checked request that is written as
the clients write it and checked again is the same; its state has a text.
"""

import json

from sysone.systemone.body import BodyError, _decode
from sysone.systemone.questions import Request, RequestError, check_request, to_wire
from sysone.systemone.render import render
from sysone.systemone.wire import parse_body

INSTRUMENT = (
    "sysone.systemone.body",
    "sysone.systemone.wire",
    "sysone.systemone.questions",
    "sysone.systemone.render",
)
ENCODINGS = (None, None, None, "gzip", "deflate", "zstd", "br")
LIMIT = 1 << 20


def check(data: bytes) -> None:
    """Hold the properties to one input."""
    encoding = ENCODINGS[data[0] % len(ENCODINGS)] if data else None
    body = data[1:]
    try:
        if encoding is not None:
            body = _decode(body, encoding, LIMIT)
            assert len(body) <= LIMIT
        value = parse_body(body)
        plain = json.loads(body)
        assert plain == value
        request = check_request(value, max_options=64)
    except RequestError as error:
        assert error.faults
        return
    except BodyError as error:
        assert error.status in (413, 415)
        return
    again = check_request(json.loads(json.dumps(wire(request))), max_options=64)
    assert again == request
    render(request.state)


def wire(request: Request) -> dict[str, object]:
    """The request as a client sends it."""
    return {
        "state": request.state,
        "questions": {name: to_wire(question) for name, question in request.questions.items()},
        "model": request.model,
        "temperature": request.temperature,
    }
