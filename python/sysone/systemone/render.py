"""Values to text: the layout that encoders and heads are trained on.

Never JSON: an object becomes ``key: value`` lines, a list ``- item`` lines, nesting two spaces.
"""

from collections.abc import Mapping, Sequence

INDENT = "  "

# Indentation multiplies: without a limit a small, deeply nested body renders to gigabytes.
MAX_DEPTH = 64
MAX_CHARACTERS = 1 << 25


class RenderError(ValueError):
    """The value is nested too deeply or is too long as text."""


def render(value: object) -> str:
    """Text of a state, an instruction or a description.

    Top-level fields of an object are separated by an empty line, nested ones by a newline; a
    nested non-empty object or list goes on indented lines below its key or a bare ``-``.

    Raises `RenderError` beyond `MAX_DEPTH` levels or `MAX_CHARACTERS` characters.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    writer = _Writer()
    if isinstance(value, Mapping):
        for index, (key, item) in enumerate(value.items()):
            if index:
                writer.line("")
            writer.entry("", f"{key}:", item, 1)
    elif isinstance(value, Sequence):
        for item in value:
            writer.entry("", "-", item, 1)
    else:
        writer.line(_scalar(value))
    return "\n".join(writer.lines)


def render_state(state: object, instructions: object) -> str:
    """State and instructions, stripped, an empty line between; either alone if one is empty."""
    parts = (render(state).strip(), render(instructions).strip())
    return "\n\n".join(part for part in parts if part)


def _scalar(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


class _Writer:
    """Collects lines and keeps the two limits."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.characters = 0

    def line(self, text: str) -> None:
        self.characters += len(text) + 1
        if self.characters > MAX_CHARACTERS:
            raise RenderError(f"longer than {MAX_CHARACTERS} characters as text")
        self.lines.append(text)

    def entry(self, indent: str, label: str, value: object, depth: int) -> None:
        """One ``label value``, or the label and the nested lines below it."""
        if isinstance(value, Mapping | Sequence) and not isinstance(value, str):
            if depth >= MAX_DEPTH:
                raise RenderError(f"nested more than {MAX_DEPTH} levels deep")
            self.line(indent + label if value else f"{indent}{label} ")
            inner = indent + INDENT
            if isinstance(value, Mapping):
                for key, item in value.items():
                    self.entry(inner, f"{key}:", item, depth + 1)
            else:
                for item in value:
                    self.entry(inner, "-", item, depth + 1)
            return
        # A text's own line breaks stay as they are, as in the layout that heads are trained on.
        self.line(f"{indent}{label} {_scalar(value)}")
