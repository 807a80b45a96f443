"""The example of docs/drop-in.md runs as it stands."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "drop-in.md"


def test_the_example_survives_a_minute(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})
    assert int(capsys.readouterr().out) >= 697
