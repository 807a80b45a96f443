"""What the pages print is what the code prints."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

# The quantised encoder's last digits differ between processors.
SLACK = 0.025


def test_the_examples_output_is_what_is_printed() -> None:
    page = (DOCS / "systemone.md").read_text()
    code = re.search(r"## An example\n\n```python\n(.*?)```", page, re.DOTALL)
    printed = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert code
    assert printed
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code[1], "docs/systemone.md", "exec"), {})
    found, expected = out.getvalue(), printed[1]
    message = f"docs/systemone.md has to say:\n{found}"
    assert NUMBER.sub("#", found) == NUMBER.sub("#", expected), message
    for one, two in zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True):
        assert float(one) == pytest.approx(float(two), abs=SLACK), message


def test_the_pages_name_only_options_that_there_are() -> None:
    from typer.main import get_command

    from sysone.systemone.cli import app

    serve = get_command(app).commands["serve"]
    known = {
        name for parameter in serve.params for name in (*parameter.opts, *parameter.secondary_opts)
    }
    known |= {"--help", "--served-model-name", "--runner", "--max-model-len"}  # of vLLM
    for name in ("systemone-serving.md", "systemone-migrating.md"):
        page = (DOCS / name).read_text()
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page)) <= known, name
