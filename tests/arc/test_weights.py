"""Weights in parts, on a hub on loopback, and from the earlier format."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest

from sysone.arc.weights import parts
from sysone.arc.weights.source import HubPlace, hub_place
from sysone.runs.errors import RunError
from sysone.systemone.torch_file import write_torch


def blob(folder: Path, size: int = 10_000) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "big.safetensors"
    path.write_bytes(np.random.default_rng(0).bytes(size))
    return path


def cut(folder: Path, part_bytes: int = 3000) -> bytes:
    """A folder that holds the file in parts alone; its bytes."""
    path = blob(folder)
    raw = path.read_bytes()
    whole = parts.split(path, folder / "parts", part_bytes)
    parts.write_manifest(folder / "parts", {path.name: whole})
    path.unlink()
    return raw


def test_parts_are_put_together(tmp_path: Path) -> None:
    raw = cut(tmp_path)
    assert len(list((tmp_path / "parts").glob("*.part*"))) == 4
    assert parts.assemble(tmp_path) == ["big.safetensors"]
    assert (tmp_path / "big.safetensors").read_bytes() == raw
    assert parts.assemble(tmp_path) == [], "what is whole is left alone"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_list_of_digests_is_read_as_well(tmp_path: Path) -> None:
    raw = cut(tmp_path)
    listed = "".join(
        f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n"
        for p in sorted((tmp_path / "parts").glob("*.part*"), reverse=True)
    )
    (tmp_path / "parts" / "manifest.json").write_text(listed)
    parts.assemble(tmp_path)
    assert (tmp_path / "big.safetensors").read_bytes() == raw


@pytest.mark.parametrize("harm", ["flip", "short", "gone"])
def test_a_part_that_is_wrong_loads_nothing(tmp_path: Path, harm: str) -> None:
    cut(tmp_path)
    part = tmp_path / "parts" / "big.safetensors.part001"
    raw = part.read_bytes()
    if harm == "gone":
        part.unlink()
    else:
        part.write_bytes(raw[:-1] if harm == "short" else bytes([raw[0] ^ 1]) + raw[1:])
    words = {"flip": "has SHA-256 .* expected", "short": "has 2999 bytes", "gone": "is missing"}
    with pytest.raises(RunError, match=f"part001 {words[harm]}"):
        parts.assemble(tmp_path)
    assert not (tmp_path / "big.safetensors").exists()


def test_a_manifest_cannot_reach_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "manifest.json").write_text('{"../x": {"parts": []}}')
    with pytest.raises(RunError, match="no plain file name"):
        parts.assemble(tmp_path)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("hf:owner/name", HubPlace("owner/name", "", "")),
        ("hf:owner/name@a/b#v1", HubPlace("owner/name", "a/b", "v1")),
        ("hf:owner/name#v1", HubPlace("owner/name", "", "v1")),
        ("hf:owner", None),
        ("owner/name", None),
        ("hf:a/b/c", None),
        ("hf:a/b@../c", None),
    ],
)
def test_places_on_a_hub(text: str, place: HubPlace | None) -> None:
    if place is None:
        with pytest.raises(RunError, match="is no place, expected hf:<owner>/<name>"):
            hub_place(text)
    else:
        assert hub_place(text) == place
        assert str(place) == text


class Hub:
    """As much of a Hugging Face hub as pull and push need, on loopback."""

    COMMIT = "c" * 40

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.tokens: set[str | None] = set()
        self.ranges: list[str] = []
        self.cut_once: set[str] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def reply(self, value: Any, status: int = 200) -> None:
                raw = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(raw)

            def do_HEAD(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                path = unquote(urlsplit(self.path).path)
                outer.tokens.add(self.headers.get("Authorization"))
                resolved = re.fullmatch(r"/owner/name/resolve/[^/]+/(.+)", path)
                if resolved:
                    outer.send_file(self, resolved[1])
                elif path.startswith("/api/models/owner/name/tree/"):
                    listed = [
                        {"type": "file", "path": name, "size": len(raw), "oid": "0" * 40}
                        for name, raw in sorted(outer.files.items())
                    ]
                    self.reply(listed)
                elif path.startswith("/api/models/owner/name"):
                    files = [{"rfilename": name} for name in sorted(outer.files)]
                    self.reply({"id": "owner/name", "sha": outer.COMMIT, "siblings": files})
                else:
                    self.reply({"error": "not found"}, 404)

            def do_POST(self) -> None:
                outer.tokens.add(self.headers.get("Authorization"))
                raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                path = unquote(urlsplit(self.path).path)
                if path == "/api/repos/create":
                    self.reply({"url": "http://127.0.0.1/owner/name", "name": "owner/name"})
                elif "/preupload/" in path:
                    listed = json.loads(raw)["files"]
                    modes = [
                        {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False}
                        for f in listed
                    ]
                    self.reply({"files": modes})
                elif "/commit/" in path:
                    import base64

                    for line in raw.splitlines():
                        entry = json.loads(line)
                        if entry["key"] == "file":
                            value = entry["value"]
                            outer.files[value["path"]] = base64.b64decode(value["content"])
                    url = f"http://127.0.0.1/owner/name/commit/{outer.COMMIT}"
                    self.reply({"success": True, "commitOid": outer.COMMIT, "commitUrl": url})
                else:
                    self.reply({"error": "not found"}, 404)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def send_file(self, handler: Any, name: str) -> None:
        raw = self.files.get(name)
        if raw is None:
            handler.send_response(404)
            handler.send_header("X-Error-Code", "EntryNotFound")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        wanted = handler.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted else 0
        if wanted:
            self.ranges.append(wanted)
        handler.send_response(206 if wanted else 200)
        handler.send_header("ETag", f'"{hashlib.sha1(raw, usedforsecurity=False).hexdigest()}"')
        handler.send_header("X-Repo-Commit", self.COMMIT)
        handler.send_header("Accept-Ranges", "bytes")
        if wanted:
            handler.send_header("Content-Range", f"bytes {start}-{len(raw) - 1}/{len(raw)}")
        handler.send_header("Content-Length", str(len(raw) - start))
        handler.end_headers()
        if handler.command == "HEAD":
            return
        body = raw[start:]
        if name in self.cut_once and not wanted:
            self.cut_once.discard(name)
            handler.wfile.write(body[: len(body) // 2])
            handler.wfile.flush()
            handler.connection.close()
            return
        handler.wfile.write(body)


TOKEN = "hf_" + "t" * 34


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    pytest.importorskip("huggingface_hub")
    found = Hub()
    monkeypatch.setenv("HF_ENDPOINT", found.url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("SYSONE_CACHE", str(tmp_path / "cache"))
    yield found
    found.server.shutdown()
    found.thread.join()
    found.server.server_close()


def checkpoint_folder(folder: Path) -> Path:
    """What verify takes for a checkpoint."""
    raw = blob(folder, 50_000).read_bytes()
    (folder / "big.safetensors").rename(folder / "qwenjev_s1.safetensors")
    record = {"sha256": hashlib.sha256(raw).hexdigest()}
    (folder / "qwenjev_s1.json").write_text(json.dumps(record))
    return folder


@pytest.mark.learn
def test_a_push_in_parts_is_pulled_whole(hub: Hub, tmp_path: Path) -> None:
    from sysone.arc.weights.hub import pull, push

    folder = checkpoint_folder(tmp_path / "s1")
    report = push(folder, hub_place("hf:owner/name@small"), 20_000)
    assert report["in_parts"] == ["qwenjev_s1.safetensors"]
    assert sorted(hub.files) == [
        "small/parts/manifest.json",
        *[f"small/parts/qwenjev_s1.safetensors.part00{index}" for index in range(3)],
        "small/qwenjev_s1.json",
    ]
    found = pull(hub_place("hf:owner/name@small"))
    name = "qwenjev_s1.safetensors"
    assert (found / name).read_bytes() == (folder / name).read_bytes()
    assert TOKEN not in json.dumps(report)
    assert f"Bearer {TOKEN}" in hub.tokens


@pytest.mark.learn
def test_a_download_that_was_cut_goes_on_where_it_stopped(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    from sysone.arc.weights.hub import pull, push

    # It keeps what it received in whole pieces, of ten megabytes where nothing else is said.
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1000)
    folder = checkpoint_folder(tmp_path / "s1")
    push(folder, hub_place("hf:owner/name"), 1 << 20)
    name = "qwenjev_s1.safetensors"
    whole = (folder / name).read_bytes()
    hub.cut_once.add(name)
    place = hub_place("hf:owner/name")
    found = pull(place)
    assert not hub.cut_once, "the connection was never cut"
    assert (found / name).read_bytes() == whole
    assert hub.ranges, "the second try began anew"
    assert int(hub.ranges[0].removeprefix("bytes=").rstrip("-")) == len(whole) // 2


@pytest.mark.learn
def test_a_wrong_digest_loads_nothing(hub: Hub, tmp_path: Path) -> None:
    from sysone.arc.weights.hub import pull, push

    push(checkpoint_folder(tmp_path / "s1"), hub_place("hf:owner/name"), 20_000)
    part = "parts/qwenjev_s1.safetensors.part001"
    hub.files[part] = bytes([hub.files[part][0] ^ 1]) + hub.files[part][1:]
    with pytest.raises(RunError, match=r"part001 has SHA-256 \w{64}, expected \w{64}"):
        pull(hub_place("hf:owner/name"))


@pytest.mark.learn
def test_errors_of_a_hub_are_one_line_without_the_token(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sysone.arc.weights.hub import pull, push

    with pytest.raises(RunError, match="hf:no/such cannot be fetched") as caught:
        pull(hub_place("hf:no/such"))
    assert TOKEN not in str(caught.value)
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(RunError, match="a push needs a token in HF_TOKEN"):
        push(checkpoint_folder(tmp_path / "s1"), hub_place("hf:owner/name"))


@pytest.mark.learn
def test_the_earlier_format_is_converted_without_being_run(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from sysone.arc.system1 import checkpoint
    from sysone.arc.system1.model import fresh
    from sysone.arc.weights.convert import convert

    model = fresh("tiny", 9)
    arrays = {name: value.numpy() for name, value in checkpoint.tensors_of(model).items()}
    nested: dict[str, Any] = {"backbone": {}, "heads": {}}
    for name, value in arrays.items():
        side, _, rest = name.partition(".")
        nested[side][rest] = value
    old = tmp_path / "old"
    old.mkdir()
    (old / "qwenjev_s1.pt").write_bytes(write_torch(nested))
    with pytest.raises(RunError, match="sysone arc weights convert"):
        checkpoint.load(old)
    convert(old, tmp_path / "new")
    loaded = checkpoint.load(tmp_path / "new")
    for name, value in checkpoint.tensors_of(loaded).items():
        assert np.array_equal(value.numpy(), arrays[name])
    nested["heads"]["norm.weight"] = np.ones(64, np.float32)
    (old / "qwenjev_s1.pt").write_bytes(write_torch(nested))
    with pytest.raises(RunError, match=r"heads\.norm\.weight has shape \(64,\), expected \(128,\)"):
        convert(old, tmp_path / "other")
    (old / "qwenjev_s1.pt").write_bytes(b"not a file of torch")
    with pytest.raises(RunError, match="is refused"):
        convert(old, tmp_path / "other")
