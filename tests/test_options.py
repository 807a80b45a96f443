"""One name for one thing: the options of all commands, walked."""

import inspect
import runpy
import sys
import typing
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from sysone.cli import app
from sysone.runs.options import OWN, SYNONYMS, accept_other_names, other_names


@dataclass(frozen=True)
class Option:
    """An option of a command."""

    command: str
    name: str
    kinds: frozenset[str]

    @property
    def world(self) -> str:
        return self.command.split()[0]


def kinds_of(annotation: Any) -> frozenset[str]:
    """The plain types of an annotation: of ``list[Path] | None`` it is path."""
    if typing.get_origin(annotation) in (typing.Union, UnionType, list, tuple, typing.Annotated):
        parts = typing.get_args(annotation)
        if typing.get_origin(annotation) is typing.Annotated:
            parts = parts[:1]
        return frozenset().union(*map(kinds_of, parts))
    if annotation in (type(None), ...):
        return frozenset()
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return frozenset({"choice"})
    if annotation is Path:
        return frozenset({"path"})
    return frozenset({getattr(annotation, "__name__", str(annotation))})


def walk(command: Any, path: str = "") -> Iterator[Option]:
    """Every option of a command and of those under it."""
    if command.callback is not None:
        hints = typing.get_type_hints(inspect.unwrap(command.callback))
        for param in command.params:
            if param.name in hints and str(param.opts[0]).startswith("-"):
                for name in param.opts:
                    yield Option(path or "sysone", name, kinds_of(hints[param.name]))
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), f"{path} {name}".strip())


@pytest.fixture(scope="module")
def options() -> list[Option]:
    return list(walk(typer.main.get_command(app)))


@dataclass(frozen=True)
class Name:
    """What a name means in every command that has it, and of which types its value may be."""

    meaning: str
    kinds: set[str]
    otherwise: dict[str, str] | None = None
    """Commands, by their beginning, in which a specification gives it another meaning."""


NUMBER, TEXT, FILE, FLAG = {"int", "float"}, {"str"}, {"path", "str"}, {"bool"}
NAMES = {
    "--agent": Name("who acts, instead of ours", TEXT | {"choice"}),
    "--answers": Name("a file of known answers", FILE),
    "--backend": Name("what it runs on", TEXT | {"choice"}),
    "--cache": Name("the folder in which fetched strategies are kept", FILE),
    "--carla-host": Name("the simulator's host", TEXT),
    "--carla-port": Name("the simulator's port", NUMBER),
    "--checkpoint": Name("a trained model's folder, or where it is", FILE),
    "--config": Name("a file of settings", FILE),
    "--description": Name("a line for the model list", TEXT),
    "--device": Name("cpu or cuda", TEXT),
    "--duration": Name("seconds of the world's own time that a run takes", NUMBER),
    "--encoder": Name("what turns texts into vectors", TEXT),
    "--engine": Name("where work is done: local or ray", TEXT | {"choice"}),
    "--force": Name("do it in spite of a warning", FLAG),
    "--from": Name(
        "where it begins", NUMBER, {"arena start-training": "the strategy to begin with"}
    ),
    "--games": Name("which games", TEXT, {"arena": "how many games of consecutive seeds"}),
    "--host": Name("the address to listen on", TEXT),
    "--html": Name("a self-contained page to write", FILE),
    "--json": Name("JSON on stdout", FLAG),
    "--latency": Name("the latency of answers in virtual time", TEXT),
    "--map": Name("the season's map", TEXT | {"choice"}),
    "--max-steps": Name("the most steps", NUMBER),
    "--model": Name(
        "which model",
        FILE | {"choice"},
        {
            "drive watch": "the command that starts it",
            "arena models": "a robot's model",
            "arena new-agent": "a robot's model",
        },
    ),
    "--name": Name("of the model that is made", TEXT),
    "--no-open": Name("start no browser", FLAG),
    "--out": Name("what is written, or the folder for it", FILE),
    "--output": Name("what is written, or the folder for it", FILE),
    "--jobs": Name(
        "how many at a time", NUMBER, {"arena": "a file of games, which its specification fixes"}
    ),
    "--policy": Name("who decides", TEXT | {"choice"}),
    "--pooling": Name("how an encoder's vectors become one", TEXT | {"choice"}),
    "--port": Name("the port to listen on, 0 one that is free", NUMBER),
    "--profile": Name("a drive's scoring rules", TEXT | {"choice"}),
    "--ray-address": Name("the head of the Ray cluster", TEXT),
    "--record": Name("where what happens is kept", FILE, {"arena env": "whether it is kept"}),
    "--resume": Name("go on with what is there", FLAG),
    # Text where it may be larger than an integer of 64 bits with a sign.
    "--seed": Name("the first seed, or the only one", NUMBER | TEXT),
    "--seeds": Name("which seeds", TEXT, {"trex": "how many seeds, which its specification fixes"}),
    "--settings": Name("changed settings, as JSON or a file", FILE),
    "--time-limit": Name("seconds after which it stops", NUMBER),
    "--timeout": Name("seconds that a decision may take", NUMBER),
    "--to": Name("where it ends", NUMBER, {"arena submit": "the file that is written"}),
    "--verify": Name("simulate again first", FLAG),
    "--workers": Name("how many at a time", NUMBER),
}
"""Every name that two worlds have, and some that one has twice."""


def test_a_name_of_two_worlds_means_one_thing(options: list[Option]) -> None:
    found = defaultdict(list)
    for option in options:
        found[option.name].append(option)
    shared = {name for name, each in found.items() if len({option.world for option in each}) > 1}
    assert sorted(shared - NAMES.keys()) == []
    assert sorted(NAMES.keys() - found.keys()) == []
    for name, told in NAMES.items():
        otherwise = told.otherwise or {}
        commands = [option.command for option in found[name]]
        for beginning in otherwise:
            assert any(command.startswith(beginning) for command in commands), (name, beginning)
        wrong = [
            option
            for option in found[name]
            if not option.command.startswith(tuple(otherwise)) and not option.kinds <= told.kinds
        ]
        assert wrong == []


def test_one_thing_has_one_name_wherever_somebody_learnt_it(options: list[Option]) -> None:
    by_command = defaultdict(set)
    for option in options:
        by_command[option.command].add(option.name)
    for command, names in by_command.items():
        understood = names | other_names(command.split()[-1], names).keys()
        for group in SYNONYMS:
            # Where a command has two of them they are two things, which the table above tells.
            if names & set(group):
                assert set(group) <= understood, command
    last = {command.split()[-1]: names for command, names in by_command.items()}
    for name, own in OWN.items():
        assert set(own.values()) <= last[name]


@pytest.mark.parametrize("word", ["--out", "--out=", "--output", "--output="])
def test_another_worlds_name_is_taken(tmp_path: Path, word: str) -> None:
    path = tmp_path / "settings.json"
    words = [f"{word}{path}"] if word.endswith("=") else [word, str(path)]
    done = CliRunner().invoke(app, ["arena", "settings", *words])
    assert done.exit_code == 0, done.output
    assert path.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["trex", "sweep", "--dir"],
        ["arc", "eval", "--workers"],
        ["drive", "run", "--workers"],
        ["arena", "settings", "--out"],
    ],
)
def test_a_world_started_as_a_module_takes_it_too(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, *rest = words
    # Help comes after every word has been understood.
    monkeypatch.setattr(sys, "argv", [world, *rest, "1", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"sysone.{world}", run_name="__main__")
    assert not ended.value.code


def test_help_shows_a_command_its_own_name_alone() -> None:
    text = CliRunner().invoke(app, ["arena", "settings", "--help"]).output
    assert "--output" in text
    assert "--out " not in text


def test_an_option_that_no_world_has_is_still_refused() -> None:
    done = CliRunner().invoke(app, ["arena", "settings", "--outfile", "x"])
    assert done.exit_code != 0


def test_what_follows_two_dashes_is_left_alone() -> None:
    found: list[list[str]] = []

    class Command:
        name = "any"
        params = (type("Param", (), {"opts": ["--out"]}),)

        def parse_args(self, context: Any, words: list[str]) -> list[str]:
            found.append(words)
            return words

    command = accept_other_names(accept_other_names(Command()))
    command.parse_args(None, ["--output=a=b", "x", "--", "--output", "y"])
    assert found == [["--out=a=b", "x", "--", "--output", "y"]]
