"""``sysone doctor`` and ``sysone --version``."""

import json
from importlib import metadata
from typing import Any

import pytest
from typer.testing import CliRunner

from sysone import doctor
from sysone.cli import app

KNOWN = {"package", "core", "systemone", "extra", "arena", "drive"}


def test_the_version_tells_the_build() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert done.exit_code == 0
    assert done.output.startswith(f"sysone {metadata.version('sysone-core')} (arena ")


def test_every_row_that_is_not_ok_has_words() -> None:
    done = CliRunner().invoke(app, ["doctor", "--json"])
    rows = [json.loads(line) for line in done.output.splitlines()]
    assert {row["area"] for row in rows} == KNOWN
    assert all(row["found"] for row in rows)
    broken = [row for row in rows if row["state"] == "broken"]
    assert done.exit_code == (1 if broken else 0), broken
    for row in rows:
        if row["area"] in ("package", "core", "systemone"):
            assert row["state"] == "ok", row


def test_the_table_keeps_brackets() -> None:
    rows = [doctor.Check("extra", "x", "missing", "without x", "pip install 'sysone-core[x]'")]
    table = doctor._table(rows)
    assert list(table.columns[3].cells) == ["pip install 'sysone-core\\[x]'"]


def test_another_owner_of_the_import_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    owners: dict[str, Any] = {"sysone": ["sysone", "sysone-core"]}
    monkeypatch.setattr(metadata, "packages_distributions", lambda: owners)
    found = doctor._owner()
    assert found.state == "broken"
    assert found.next_step.startswith("pip uninstall sysone;")


@pytest.mark.parametrize(
    ("version", "state"), [("0.10.0", "broken"), ("0.16.0", "broken"), ("0.18.0+cpu", "ok")]
)
def test_an_old_torchao_is_told(
    monkeypatch: pytest.MonkeyPatch, version: str, state: doctor.State
) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: version)
    assert doctor._torchao().state == state
