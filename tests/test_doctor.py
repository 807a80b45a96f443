"""``sysone doctor`` and ``sysone --version``."""

import json
import sys
import tomllib
from importlib import metadata
from pathlib import Path
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


def test_an_installed_package_of_that_name_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert doctor._owner().state == "ok"
    about = tmp_path / "other_thing-9.9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other-thing\nVersion: 9.9\n")
    (about / "RECORD").write_text("sysone/__init__.py,,\nother_thing-9.9.dist-info/RECORD,,\n")
    monkeypatch.setattr("sys.path", [*sys.path, str(tmp_path)])
    done = CliRunner().invoke(app, ["doctor", "--json"])
    assert done.exit_code == 1
    row = next(
        row for row in map(json.loads, done.output.splitlines()) if "belongs" in row["found"]
    )
    assert row["state"] == "broken"
    assert "belongs to other-thing, too" in row["found"]
    assert row["next_step"].startswith("pip uninstall other-thing;")


def test_every_extra_is_looked_for() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    # Told by the drive's own rows, for an environment of its own, and for our own work.
    elsewhere = {"map", "ue4", "ue5", "vllm", "dev"}
    assert doctor.EXTRAS.keys() == project["optional-dependencies"].keys() - elsewhere


@pytest.mark.parametrize(
    ("version", "state"), [("0.10.0", "broken"), ("0.16.0", "broken"), ("0.18.0+cpu", "ok")]
)
def test_an_old_torchao_is_told(
    monkeypatch: pytest.MonkeyPatch, version: str, state: doctor.State
) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: version)
    assert doctor._torchao().state == state
