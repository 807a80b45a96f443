"""Fetching games, against a stand-in of the game service on loopback."""

import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sysone.arc import toolkit
from sysone.arc.cli import app
from sysone.arc.practice.build import SUITE

if not toolkit.available():
    pytest.skip("the ARC toolkit is not installed", allow_module_level=True)

LISTED = ("pmaz", "pcyc", "hkey")
BROKEN = "hkey"
"""Its description can be had, and its source cannot, until the service is mended."""


class Service:
    """The four addresses that the toolkit's normal mode asks, over three games of ours."""

    def __init__(self) -> None:
        from flask import Flask, Response, abort, jsonify, request
        from werkzeug.serving import make_server

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        web = Flask("service")
        self.asked: list[str] = []
        self.keys: set[str] = set()
        self.mended = False

        @web.before_request
        def note() -> None:
            self.asked.append(request.path)
            self.keys.add(request.headers.get("X-Api-Key", ""))

        @web.get("/api/games/anonkey")
        def key() -> Any:
            return jsonify({"api_key": "anonymous"})

        @web.get("/api/games")
        def games() -> Any:
            return jsonify([self.metadata(game) for game in LISTED])

        @web.get("/api/games/<game_id>")
        def game(game_id: str) -> Any:
            base = game_id.split("-", 1)[0]
            return jsonify(self.metadata(base)) if base in LISTED else abort(404)

        @web.get("/api/games/<game_id>/source")
        def source(game_id: str) -> Any:
            base = game_id.split("-", 1)[0]
            if base == BROKEN and not self.mended:
                abort(500)
            return Response((SUITE / base / "v1" / f"{base}.py").read_text(), mimetype="text/plain")

        self.server = make_server("127.0.0.1", 0, web, threaded=True)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @staticmethod
    def metadata(game: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((SUITE / game / "v1" / "metadata.json").read_text())
        found["tags"] = ["stand-in"]
        return found

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.chdir(tmp_path)
    found = Service()
    monkeypatch.setenv("ARC_BASE_URL", found.url)
    monkeypatch.delenv("ARC_API_KEY", raising=False)
    monkeypatch.delenv("OPERATION_MODE", raising=False)
    yield found
    found.stop()


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_games_are_fetched_once_and_played_offline_ever_after(service: Service) -> None:
    service.mended = True
    done = run("games", "fetch", "--yes")
    assert done.exit_code == 0, done.output
    assert "3 games in environment_files" in done.stdout
    assert service.keys == {"", "anonymous"}  # the key itself is asked for without one
    folder = Path("environment_files")
    for game in LISTED:
        assert (folder / game / "v1" / f"{game}.py").is_file()
        assert (folder / game / "v1" / "metadata.json").is_file()
    listed = json.loads((folder / "public_games.json").read_text())
    assert listed == {"games": sorted(f"{game}-v1" for game in LISTED)}
    # Once more: what is there is not asked for again.
    service.asked.clear()
    assert run("games", "fetch", "--yes").exit_code == 0
    assert not [path for path in service.asked if path.endswith("/source")]
    assert run("games", "list", "--online").stdout.split() == listed["games"]
    # And now without the service.
    service.stop()
    done = run("eval", "--games", "all25", "--max-actions", "20")
    assert done.exit_code == 0, done.output
    report = json.loads(Path("eval_report.json").read_text())
    assert sorted(report["games"]) == sorted(LISTED)
    assert run("eval", "--games", "all", "--max-actions", "3").exit_code == 0
    done = run("games", "list", "--online")
    assert "offline: the game service cannot be reached" in done.stderr
    assert "pmaz-v1" in done.stdout


def test_download_only_is_consent(service: Service) -> None:
    service.mended = True
    done = run("eval", "--download-only", "--environments-dir", "kept")
    assert done.exit_code == 0, done.output
    assert "3 games in kept" in done.stdout


def test_some_games_by_name_and_one_that_does_not_come(service: Service) -> None:
    done = run("games", "fetch", "--yes", "pmaz", BROKEN)
    assert done.exit_code == 1
    assert "1 games in environment_files" in done.stdout
    assert f"the service did not give {BROKEN}" in done.stderr
    assert "Traceback" not in done.output
    # Half a game is none: it is neither listed nor taken for fetched.
    assert f"environment_files: {BROKEN}" not in run("list").stdout
    service.mended = True
    assert run("games", "fetch", "--yes", BROKEN).exit_code == 0
    assert f"environment_files: {BROKEN}-v1" in run("list").stdout


@pytest.mark.parametrize("key", ["", "a key"])
def test_offline_is_one_line(service: Service, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    service.stop()
    if key:
        monkeypatch.setenv("ARC_API_KEY", key)
    for arguments in (["games", "fetch", "--yes"], ["eval", "--download-only"]):
        done = run(*arguments)
        assert done.exit_code == 1
        lines = done.stderr.strip().split("\n")
        assert lines[-1].startswith("sysone arc: offline: the game service")
        assert "Traceback" not in done.output
    assert not Path("environment_files/public_games.json").exists()


def test_a_mode_that_does_not_download_is_refused_by_name(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPERATION_MODE", "online")
    done = run("games", "fetch", "--yes")
    assert done.exit_code == 1
    assert "OPERATION_MODE is 'online'" in done.stderr
    assert service.asked == []


def test_the_folder_is_ours_whatever_the_environment_says(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.mended = True
    monkeypatch.setenv("ENVIRONMENTS_DIR", "elsewhere")
    assert run("games", "fetch", "--yes", "pmaz").exit_code == 0
    assert (Path("environment_files") / "pmaz" / "v1" / "pmaz.py").is_file()
    assert not Path("elsewhere").exists()
