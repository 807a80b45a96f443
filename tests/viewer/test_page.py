"""The served page and the one file, as texts; `test_browser` looks at them."""

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from sysone.arena.cli import app as arena_app
from sysone.viewer.cli import app
from sysone.viewer.detect import open_path
from sysone.viewer.document import encode
from sysone.viewer.page import PAGE, bundle, self_contained
from sysone.viewer.server import make_app

HOST = "http://127.0.0.1"


@pytest.fixture
def client(outputs: Path) -> TestClient:
    return TestClient(make_app(open_path(outputs / "games")), base_url=HOST)


def test_the_page_and_its_data_are_served(client: TestClient) -> None:
    assert "page/main.js" in client.get("/").text
    assert client.get("/page/main.js").headers["content-type"].startswith("text/javascript")
    overview = client.get("/document", params={"name": ""}).json()
    assert overview["kind"] == "report"
    name = overview["items"][0]["name"]
    assert client.get("/document", params={"name": name}).json()["kind"] == "arena"
    assert client.post("/verify", params={"name": name}).json()["text"] == "verified"


def test_nothing_else_is_served(client: TestClient) -> None:
    for name in ("..%2fcli.py", "..%2f..%2fcli.py", "main.py", "%2fetc%2fpasswd"):
        assert client.get(f"/page/{name}").status_code == 404
    for name in ("../results.jsonl", "run.json", "nothing"):
        assert client.get("/document", params={"name": name}).status_code == 404
        assert client.get(f"/picture/{name}").status_code == 404
    assert client.get("/verify", params={"name": "replays/000000.json"}).status_code == 405
    assert client.get("/more").status_code == 404  # a run has told everything


def test_every_response_has_the_policy_and_other_hosts_are_refused(client: TestClient) -> None:
    for address in ("/", "/page/main.js", "/document", "/nothing"):
        headers = client.get(address).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self';" in policy
        assert "connect-src 'self'" in policy
        assert headers["x-content-type-options"] == "nosniff"
    assert client.get("/", headers={"host": "example.com"}).status_code == 400


def test_a_document_that_cannot_be_made_says_why(outputs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "games"
    (folder / "replays").mkdir(parents=True)
    for name in ("run.json", "summary.json", "results.jsonl"):
        (folder / name).write_bytes((outputs / "games" / name).read_bytes())
    for name in ("000000.json", "000001.json"):
        (folder / "replays" / name).write_text("{}")
    client = TestClient(make_app(open_path(folder)), base_url=HOST)
    answer = client.get("/document", params={"name": "replays/000000.json"})
    assert answer.status_code == 422
    assert "no arena replay" in answer.json()["error"]


def test_what_takes_longer_is_asked_for_apart_and_is_in_one_file(outputs: Path) -> None:
    opened = open_path(outputs / "traces" / "pkey" / "seed0.jsonl")
    client = TestClient(make_app(opened), base_url=HOST)
    assert client.get("/document").json()["more"]
    told = client.get("/more").json()
    assert told == json.loads(encode(opened.more[""]()))
    found = re.search(r'id="embedded-data">([^<]*)</script>', self_contained(opened))
    assert found is not None
    packed = json.loads(found[1])["more"][""]
    assert json.loads(gzip.decompress(base64.b64decode(packed))) == told


def test_one_file_holds_everything_and_asks_for_nothing(outputs: Path) -> None:
    text = self_contained(open_path(outputs / "games"))
    found = re.search(r'id="embedded-data">([^<]*)</script>', text)
    assert found is not None
    data = json.loads(found[1])
    assert list(data["documents"]) == ["", "replays/000000.json", "replays/000001.json"]
    overview = json.loads(gzip.decompress(base64.b64decode(data["documents"][""])))
    assert overview["kind"] == "report"
    script = re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"'sha256-{digest}'" in text
    assert "connect-src 'none'" in text
    assert not re.search(r'(?:src|href)="(?!data:)', text.replace(script[1], ""))


def test_a_hostile_name_cannot_end_the_data(hostile: Path) -> None:
    text = self_contained(open_path(hostile))
    assert "window.hurt" not in text


def test_the_bundle_has_every_module_once_and_no_import_left() -> None:
    script = bundle()
    modules = {path.stem for path in PAGE.glob("*.js")}
    assert set(re.findall(r"^const module_(\w+) =", script, re.MULTILINE)) == modules
    assert not re.search(r"^\s*(?:import|export)\b", script, re.MULTILINE)
    assert "</script" not in script


def test_modules_reach_for_nothing_outside() -> None:
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?://", text), path.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)


def test_both_languages_have_every_text() -> None:
    text = (PAGE / "i18n.js").read_text(encoding="utf-8")
    rows = re.findall(r"^  (\w+): \[\"(.*?)\", \"(.*?)\"\],$", text, re.MULTILINE)
    listed = text.partition("const TEXTS = {")[2].partition("\n};")[0]
    assert len(rows) == sum(
        line.startswith("  ") and "//" not in line for line in listed.split("\n")
    )
    names = [name for name, _, _ in rows]
    assert sorted({name for name in names if names.count(name) > 1}) == []
    for name, english, chinese in rows:
        assert set(re.findall(r"\{\w+\}", english)) == set(re.findall(r"\{\w+\}", chinese)), name


@pytest.mark.parametrize("name", ["shielded.jsonl", "sweep.json", "replay.json", "games"])
def test_the_command_writes_one_file(outputs: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "view.html"
    done = CliRunner().invoke(app, [str(outputs / name), "--html", str(out)])
    assert done.exit_code == 0, done.output
    assert out.read_text().startswith("<!doctype html>")


def test_one_file_holds_as_many_pictures_as_there_is_room_for(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_path(outputs / "filmed")
    names = list(opened.pictures())
    sizes = [path.stat().st_size for name in names if (path := opened.picture(name))]
    assert len(sizes) == len(names) > 4

    def embedded() -> list[str]:
        text = self_contained(opened).partition('id="embedded-data">')[2].partition("</script>")[0]
        return list(json.loads(text)["pictures"])

    assert embedded() == names
    monkeypatch.setattr("sysone.viewer.page.MOST_PICTURE_BYTES", sum(sizes) - 1)
    assert embedded() == names[::2]
    monkeypatch.setattr("sysone.viewer.page.MOST_PICTURE_BYTES", 0)
    assert embedded() == []


def test_both_entrances_refuse_in_one_line(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text("{}")
    for command, words in ((app, []), (arena_app, ["play"])):
        done = CliRunner().invoke(command, [*words, str(wrong), "--no-open"])
        assert done.exit_code == 2
        assert done.stderr.startswith("sysone view: ")
        assert len(done.stderr.strip().splitlines()) == 1
