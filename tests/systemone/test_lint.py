import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sysone.systemone import Choice, Noul, RequestError, Score
from sysone.systemone.cli import app
from sysone.systemone.lint import embedded_similarity, lint, questions_of

GOOD = {
    "team": Choice(
        {
            "billing": "Payments, invoices and refunds",
            "shipping": "Parcels and delivery dates",
            "other": "None of these",
        },
        "Which team should answer?",
    ),
    "late": Noul(
        "Is the parcel late?", {"true": "After the promised day", "false": "In time or early"}
    ),
    "hurry": Score(["can wait a week", "today", "at once, somebody is in danger"], "How urgent?"),
}


def rules(question: Any, **more: Any) -> list[str]:
    return [finding.rule for finding in lint({"q": question}, **more)]


def test_good_questions_pass() -> None:
    assert lint(GOOD, embedded_similarity()) == []


@pytest.mark.parametrize(
    ("question", "rule"),
    [
        (Choice({"a": "first", "other": "none"}), "no-instructions"),
        (Choice({"billing": "Payments", "b": None, "other": "x y"}, "?"), "undescribed"),
        (Choice({"option 1": None, "option 2": None, "none": "no option"}, "?"), "undescribed"),
        (Choice({"billing": "Payments", "shipping": "Parcels"}, "?"), "no-none"),
        (Choice({"only": "one"}, "?"), "single"),
        (Score(["only"], "?"), "single"),
        (Score(["1", "2", "3"], "?"), "bare-level"),
        (Noul("Is it late?"), "one-sided"),
        (Noul("Is it late?", {"true": "after noon"}), "one-sided"),
        (Choice({"a": "The same", "b": " the  SAME ", "other": "x"}, "?"), "duplicate"),
        (Score(["low", "low", "high"], "?"), "duplicate"),
    ],
)
def test_each_weakness_is_found(question: Any, rule: str) -> None:
    assert rules(question) == [rule]


def test_names_that_speak_for_themselves_need_no_description() -> None:
    question = Choice(dict.fromkeys(["refund the order", "send a new parcel", "do nothing"]), "?")
    assert rules(question) == []


@pytest.mark.parametrize("name", ["other", "none_of_these", "Unknown", "n/a", "something else"])
def test_none_of_these_has_many_names(name: str) -> None:
    assert rules(Choice({"billing": "Payments", name: "what is left"}, "?")) == []


def test_near_duplicates_by_meaning() -> None:
    question = Choice(
        {
            "refund": "The customer wants the money back",
            "money": "The customer would like the money back",
            "weather": "It rains",
            "other": "None of these",
        },
        "?",
    )
    assert rules(question) == []
    found = lint({"q": question}, embedded_similarity())
    assert [finding.rule for finding in found] == ["near-duplicate"]
    assert "'refund' and 'money'" in found[0].message


def test_documents_of_every_kind() -> None:
    plain = {"type": "noul", "instructions": "?"}
    assert list(questions_of({"state": "s", "questions": {"a": plain}})) == ["a"]
    assert list(questions_of({"a": plain})) == ["a"]
    assert list(questions_of(plain)) == ["question"]
    for bad in ([], "text", {"a": 3}, {}):
        with pytest.raises(RequestError):
            lint(questions_of(bad))


def test_the_command(tmp_path: Path) -> None:
    runner = CliRunner()
    weak = tmp_path / "weak.json"
    weak.write_text(json.dumps({"q": {"type": "noul", "instructions": "?"}}))
    found = runner.invoke(app, ["lint", str(weak), "--no-near"])
    assert found.exit_code == 1
    assert found.output.startswith(f"{weak}: q: describe both")
    assert found.output.endswith("[one-sided]\n")
    good = tmp_path / "good.json"
    good.write_text(
        json.dumps(
            {"q": {"type": "score", "criteria": ["low tide", "high tide"], "instructions": "?"}}
        )
    )
    assert runner.invoke(app, ["lint", str(good), "--no-near"]).exit_code == 0
    read = runner.invoke(app, ["lint", "-", "--no-near"], input=weak.read_bytes())
    assert read.output.startswith("-: q: ")
    for content in ("{", '{"q": {"type": "box"}}'):
        weak.write_text(content)
        broken = runner.invoke(app, ["lint", str(weak), "--no-near"])
        assert broken.exit_code == 2
        assert str(weak) in broken.output
    missing = runner.invoke(app, ["lint", str(tmp_path / "none.json"), "--no-near"])
    assert missing.exit_code == 2
    assert "No such file" in missing.output
