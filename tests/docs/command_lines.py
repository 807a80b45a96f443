"""Command lines as text, and whether this package has what they name."""

import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

import typer

from docs.pages import ROOT

SEPARATORS = {";", "&", "&&", "||", "|", "(", ")", ";;"}
OPENERS = {"do", "then", "else", "{", "!", "time"}
SHELL = {
    *("cd", "export", "for", "done", "fi", "if", "}", "echo", "cat", "mkdir", "sleep", "kill"),
    *(
        "true",
        "sed",
        "wait",
        "ls",
        "cp",
        "rm",
        "git",
        "curl",
        "test",
        "head",
        "tail",
        "source",
        ".",
    ),
}
FOREIGN = {
    *("apt", "apt-get", "docker", "ffmpeg", "jevcompat", "jq", "ray", "tensorboard"),
    *("vllm/bin/pip", "vllm/bin/vllm"),
}
"""Programs of others: that they exist and what they take is not ours to check."""
PLACEHOLDER = re.compile(r"…|\.\.\.|<\w+>|(?<![\w$])[A-Z]{1,}(?![\w=])")
HEREDOC = re.compile(r"<<-?\s*'?\"?(\w+)'?\"?(.*?)\n.*?^\1$", re.DOTALL | re.MULTILINE)


class CommandError(Exception):
    """What is wrong with a command line, in words."""


def commands(text: str) -> Iterator[list[str]]:
    """The simple commands of a shell text: words without assignments, keywords, redirections."""
    text = one_line(HEREDOC.sub(r"\2", text).replace("\\\n", " "))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word in SEPARATORS:
            if command := _simple(words):
                yield command
            words = []
        else:
            words.append(word)


def _simple(words: list[str]) -> list[str]:
    words = list(words)
    while words and (words[0] in OPENERS or re.match(r"[A-Za-z_]\w*=", words[0])):
        words.pop(0)
    kept: list[str] = []
    while words:
        word = words.pop(0)
        if set(word) <= {"<", ">", "&"}:
            if words:
                words.pop(0)  # where it goes
            if kept and kept[-1] == "2":
                kept.pop()
            continue
        kept.append(word)
    return kept


def one_line(text: str) -> str:
    """A text without comments, with semicolons for the ends of lines; quotes stay whole."""
    kept: list[str] = []
    quote, comment = "", False
    for at, letter in enumerate(text):
        if comment and letter != "\n":
            continue
        comment = False
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#" and (at == 0 or text[at - 1].isspace()):
            comment = True
            continue
        kept.append(" ; " if letter == "\n" and not quote else letter)
    return "".join(kept)


def check(words: list[str], complete: bool = True) -> None:
    """Raises `CommandError` when a command names what is not there.

    Args:
        words: one simple command.
        complete: whether arguments that are required have to be there.
    """
    dots = [at for at, word in enumerate(words) if word in ("…", "...")]
    program, *rest = words[: dots[0]] if dots else words
    complete = complete and not dots
    program = program.removeprefix(".venv/bin/")
    if program in SHELL or program in FOREIGN or program.startswith(("$", "#")):
        return
    if program in ("sysone", "rmuc-arena"):
        check_typer(program, _group(program), rest, complete)
    elif program in ("python", "python3") or program.endswith("/bin/python"):
        _check_python(rest, complete)
    elif program in ("pip", "pip3"):
        _check_pip(rest)
    elif program == "make":
        _check_make(rest)
    else:
        raise CommandError(f"{program} is no command that is known here")


@cache
def _group(program: str) -> Any:
    if program == "sysone":
        from sysone.cli import app
    elif program == "bench":
        from bench.__main__ import app
    else:
        from sysone.arena.cli import app
    return typer.main.get_command(app)


def check_typer(name: str, command: Any, words: list[str], complete: bool) -> None:
    """Holds words to a typer command: options, choices, numbers, arguments, sub-commands."""
    context = command.make_context(name, [], resilient_parsing=True)
    context.resilient_parsing = False  # which would hide what is wrong with the words
    if "--help" in words and not hasattr(command, "commands"):
        return
    words = _one_word_lists(words)
    try:
        values, rest, _ = command.make_parser(context).parse_args(list(words))
    except Exception as error:  # click's errors, which typer has moved between its versions
        if not complete and "requires" in str(error):
            return
        raise CommandError(f"{name}: {getattr(error, 'message', error)}") from error
    for parameter in command.params:
        given = values.get(parameter.name)
        missing = given is None or type(given).__name__ == "Sentinel" or repr(given) == "UNSET"
        if missing or given == ():
            if complete and parameter.required and not (rest and hasattr(command, "commands")):
                raise CommandError(f"{name} lacks {parameter.name}")
            continue
        if parameter.name in values:
            _check_value(name, parameter, given, context)
    if hasattr(command, "list_commands"):
        if rest and rest[0] != "--help":
            under = command.get_command(context, rest[0])
            if under is None:
                raise CommandError(f"{name} has no command {rest[0]!r}")
            check_typer(f"{name} {rest[0]}", under, rest[1:], complete)
    elif rest and not context.allow_extra_args:
        raise CommandError(f"{name} takes no {' '.join(rest)!r}")


def _one_word_lists(words: list[str]) -> list[str]:
    """``--seeds 3 7 9`` is one value to the arena's commands."""
    text = " ".join(word.replace(" ", "\0") for word in words)
    text = re.sub(r"(--seeds \d+)((?: \d+)+)", lambda m: m[1] + m[2].replace(" ", ","), text)
    return [word.replace("\0", " ") for word in text.split(" ") if word]


def _check_value(name: str, parameter: Any, given: Any, context: Any) -> None:
    """Numbers and choices are read as the command reads them; files need not be there."""
    descriptor = getattr(parameter, "type_descriptor", None)
    kind = repr(getattr(descriptor, "annotation", getattr(parameter, "type", None)))
    values = given if isinstance(given, (list, tuple)) else [given]
    if parameter.callback is not None or not re.search(r"int|float|Literal|enum|Choice", kind):
        return
    if any(PLACEHOLDER.search(str(value)) or "$" in str(value) for value in values):
        return
    try:
        parameter.process_value(context, given)
    except Exception as error:
        said = getattr(error, "message", error)
        raise CommandError(f"{name} {parameter.opts[0]} {given}: {said}") from error


def _check_python(words: list[str], complete: bool) -> None:
    if words[:1] == ["-m"]:
        module, rest = words[1], words[2:]
        known = {"sysone": "sysone", "rmuc_arena": "rmuc-arena", "sysone.arena": "rmuc-arena"}
        if module in known:
            check([known[module], *rest], complete)
        elif module.startswith("sysone."):
            check(["sysone", module.removeprefix("sysone."), *rest], complete)
        elif importlib.util.find_spec(module) is None:
            raise CommandError(f"there is no module {module}")
    elif words and words[0].endswith(".py") and words[0].startswith(("examples/", "tools/")):
        path = ROOT / words[0]
        if not path.is_file():
            raise CommandError(f"there is no {words[0]}")
        source = path.read_text(encoding="utf-8")
        options = {word.split("=")[0] for word in words[1:] if word.startswith("--")}
        # A script that hands its options on has them where it hands them to.
        gone = {option for option in options if f'"{option}"' not in source}
        if gone and "sysone" in source and "add_argument" not in source:
            check(["sysone", "trex", *words[1:]], complete)
        elif gone:
            raise CommandError(f"{words[0]} has no {', '.join(sorted(gone))}")


def _check_pip(words: list[str]) -> None:
    extras = _project()["project"]["optional-dependencies"]
    for word in words:
        named = re.fullmatch(r"(?:sysone-core|\.)\[([\w,-]+)\]", word)
        for extra in named[1].split(",") if named else ():
            if extra not in extras:
                raise CommandError(f"there is no extra {extra!r}; there are {', '.join(extras)}")


@cache
def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@cache
def make_targets() -> frozenset[str]:
    """The Makefile's targets that are called by name."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = re.findall(r"^([a-z][\w-]*):(?!=)", text, re.MULTILINE)
    return frozenset(rules)


def _check_make(words: list[str]) -> None:
    for word in words:
        if "=" not in word and word not in make_targets():
            raise CommandError(f"the Makefile has no target {word!r}")
