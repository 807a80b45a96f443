"""The doctor: the self-test is that of this core, and what is required decides the exit code."""

import json
from typing import Any

import pytest

from sysone.arena import cli, doctor
from sysone.arena.rules.settings import data


def call(capsys: Any) -> tuple[Any, list[dict[str, Any]]]:
    with pytest.raises(SystemExit) as left:
        cli.main(["doctor"])
    out, _ = capsys.readouterr()
    return left.value.code, json.loads(out)


def test_the_self_test_is_of_this_core() -> None:
    """After a change of the rules or the core: write what `digest_of` says to the file."""
    for season, digest in json.loads(data(doctor.SELF_TEST)).items():
        assert doctor.digest_of(season) == digest


def test_all_that_is_required_is_here(capsys: Any) -> None:
    code, rows = call(capsys)
    assert code == 0
    names = {row["name"] for row in rows}
    assert {"python", "core", "self-test", "isolation: bubblewrap", "isolation: docker"} <= names
    assert all(row["ok"] for row in rows if row["required"])


def test_another_core_fails_it(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "digest_of", lambda season: "0" * 64)
    code, rows = call(capsys)
    assert code == 1
    row = next(row for row in rows if row["name"] == "self-test")
    assert not row["ok"]
    assert "has the digest 0000" in row["detail"]
    assert row["hint"]


def test_what_is_missing_has_a_hint(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sysone.arena.isolation.bubblewrap.unavailable", lambda: "not installed")
    code, rows = call(capsys)
    assert code == 0, "a sandbox is not required"
    row = next(row for row in rows if row["name"] == "isolation: bubblewrap")
    assert (row["ok"], row["detail"]) == (False, "not installed")
    assert "apt install bubblewrap" in row["hint"]
