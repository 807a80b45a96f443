"""Docstrings as Markdown: ``[envs][side]`` is a shape in ours, and would be a link there."""

import re
from typing import Any

import griffe

CODE_OR_SHAPE = re.compile(r"(``.*?``|`[^`]*`)|\]\[", re.DOTALL)


def as_markdown(text: str) -> str:
    """The text with brackets that follow each other escaped, outside of code."""
    return CODE_OR_SHAPE.sub(lambda match: match[1] or r"]\[", text)


class Docstrings(griffe.Extension):
    """Changes every docstring that is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
