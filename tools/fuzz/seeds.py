"""Writes the seeds of every target from golden data and from what the product itself writes.

``python -m tools.fuzz.seeds`` adds what is missing; remove a seed to have it made anew. Everything
here is made by this project's own code or copied from tests/data.
"""

import base64
import gzip
import io
import json
import pickle
import random
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from safetensors.numpy import save

from sysone.arc.observe import state_text
from sysone.arena import lineup
from sysone.arena.engine import TEAMS, Game, Setup
from sysone.arena.record import Recorder, assemble
from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import SEASONS
from sysone.drive.ticks import TickStore
from sysone.systemone.body import zstd
from sysone.systemone.checkpoint import Config
from sysone.systemone.torch_file import write_torch
from sysone.trex.latency import Fixed
from sysone.trex.recording import RecordingFile
from sysone.trex.simulate import Conditions, Identity, simulate
from tools.fuzz.catalogue import CORPUS, ROOT
from tools.fuzz.files import folder

sys.path.insert(0, str(ROOT / "tests"))
from arena import scripts  # the random actions of the arena's own tests


def base64_seeds() -> Iterator[tuple[str, bytes]]:
    """Texts around the widths of the vector registers, and some that are refused."""
    stream = random.Random(1)
    for size in (0, 1, 2, 3, 23, 24, 25, 47, 48, 49, 95, 96, 97, 200):
        yield f"raw_{size}", base64.b64encode(stream.randbytes(size))
    yield "url_alphabet", b"-_-_" * 24
    yield "padding_inside", b"AAA=" * 24
    yield "loose_bits", b"AB=="
    yield "short", b"AAAAA"


def drive_wire_seeds() -> Iterator[tuple[str, bytes]]:
    """Messages of each kind, whole and in pieces."""
    picture = base64.b64encode(bytes(range(12))).decode()
    points = base64.b64encode(bytes(32)).decode()
    start = {"type": "route_start", "proto": "0.3", "route_id": 1, "town": "T",
             "keypoints": [[0, 0, 0], [5, 0, 0]], "commands": [4, 4],
             "gps_plan": [[0, 0, 0], [0, 1, 0]], "gps_ref": [1.5, 2], "gps_model": "m"}  # fmt: skip
    tick = {"type": "tick", "tick": 1, "speed": 3.0, "timestamp": 1.0, "gps": [0, 0, 0],
            "compass": 0.5, "sim_time": 2.5}  # fmt: skip
    camera = {**tick, "rgb_shape": [2, 2, 3], "rgb_b64": picture}
    both = {**tick, "lidar_n": 2, "rgb_shape": [2, 2, 3], "lidar_b64": points, "rgb_b64": picture}
    reply = {"throttle": 0.5, "brake": 0.0, "steer": -0.1, "tick": 3, "infer_ms": 12.5,
             "info": {"a": [1, 2]}}  # fmt: skip
    messages: dict[str, Any] = {
        "start": start,
        "tick": tick,
        "camera": camera,
        "both": both,
        "early": {**tick, "rgb_b64": picture, "rgb_shape": [2, 2, 3]},
        "escaped": json.dumps(camera).replace("AAEC", "\\u0041AEC"),
        "end": {"type": "route_end", "route_id": 1},
        "heartbeat": {"heartbeat": True},
        "legacy": {"tick": 1, "speed": 1, "timestamp": 2, "target_points": [[1, 2]]},
        "reply": reply,
        "error": {"type": "error", "code": "bad_json", "message": "m", "tick": 1},
        "list": [1],
        "numbers": '{"tick": 1e400, "a": NaN}',
        "wide": "{" + " " * 1100 + "}",
    }
    for number, (name, message) in enumerate(messages.items()):
        text = message if isinstance(message, str) else json.dumps(message)
        yield name, bytes([number * 7 % 64]) + text.encode() + b"\n"
    yield "two", b"\x05" + b'{"heartbeat":true}\r\n \n' + json.dumps(camera).encode() + b"\n{"


def arena_json_seeds() -> Iterator[tuple[str, bytes]]:
    """Texts of every kind of value, and some at the limits of size, depth and range."""
    texts = {
        "values": '[null, true, false, 0, -1.5, "a", {}, [], {"a": {"b": [1]}}]',
        "numbers": "[0.0000005, 1e3, 1E-3, 1e+2, 9e99, -9e99, 1e-99, 123456.789, -0]",
        "words": "[NaN, Infinity, -Infinity]",
        "escapes": r'"\\ \/ \b\f\n\r\t \u00e4 \ud83d\ude00 \ud800 \udc00\u0041 \""',
        "twice": '{"a": 1, "b": 2, "a": 3}',
        "deep": "[" * 8 + "]" * 8,
        "too_deep": "[" * 9 + "]" * 9,
        "text": '"ä · → 😀"',
        "cut": '{"a": [1, 2',
        "blank": " \t\n\r1 \n",
    }
    for name, text in texts.items():
        yield name, text.encode()
    yield "not_utf8", b'"\xff\xc0\x80"'
    yield "sign_after_sign", b"1e+-5"


def _start(season: str, lines: list[dict[int, int]], seed: int) -> bytes:
    """A match as `new_match` of csrc/fuzz/arena_world.h reads it."""
    book = Book.of(season)  # type: ignore[arg-type]
    numbers = [model["model"] for model in book.models]
    out = bytes([SEASONS.index(season)])  # type: ignore[arg-type]
    for line in lines:
        slots = sorted(line)[:5]
        out += bytes([len(slots) - 1, *(numbers.index(line[slot]) for slot in slots)])
    return out + struct.pack("<H", seed)


def arena_action_seeds() -> Iterator[tuple[str, bytes]]:
    """Random actions over every model, of teams and of single robots, and wrong ones."""
    for season in SEASONS:
        by_number = {model["model"]: model for model in Book.of(season).models}
        for number, line in enumerate(scripts.DECKS[season]):
            start = _start(season, [line, line], number)
            own = {slot: by_number[line[slot]] for slot in sorted(line)[:5]}
            for k in range(4):
                dice = random.Random(f"{season} {number} {k}")
                team = k % 2
                action = scripts.random_side(dice, own, ("blue", "red")[team], sorted(own))
                yield f"{season}_{number}_{k}", start + bytes([team]) + json.dumps(action).encode()
            one = {"1": scripts.random_robot(random.Random(number), own[1], ["blue-1"])}
            yield f"{season}_{number}_robot", start + bytes([2]) + json.dumps(one).encode()
        start = _start(season, [scripts.DECKS[season][0]] * 2, 1) + b"\0"
        for name, text in {
            "say": '{"team":{"say":{"to":[1,2],"text":"ä"},"sentry":{"revive":"buy"}}}',
            "unknown": '{"1":{"jump":true}}',
            "range": '{"1":{"move":[2,0]}}',
            "not_finite": '{"1":{"heading":NaN}}',
            "enemy": '{"blue-1":{}}',
        }.items():
            yield f"{season}_{name}", start + text.encode()


def arena_scenario_seeds() -> Iterator[tuple[str, bytes]]:
    """Changed starts, with every field, and wrong ones."""
    for season in SEASONS:
        for number, line in enumerate(scripts.DECKS[season]):
            lines = [dict(sorted(line.items())[:5])] * 2
            start = _start(season, lines, number)
            armed = scripts.start_scenario(lines, Book.of(season))
            late = {**armed, "time": 175, "coins": {"red": 500, "blue": 0},
                    "buildings": {"blue": {"outpost_hp": 0, "base_hp": 2500}}}  # fmt: skip
            placed = {"robots": {"red-1": {"x": 5.0, "y": 7.5, "heading": 1.0, "level": 3,
                                           "heat": 10, "energy": 100, "hp": 20}}}  # fmt: skip
            gone = {**armed, "remove": ["blue-1", "red-2"]}
            for name, scenario in {"armed": armed, "late": late, "placed": placed,
                                   "gone": gone}.items():  # fmt: skip
                yield f"{season}_{number}_{name}", start + json.dumps(scenario).encode()
        yield f"{season}_wrong", start + b'{"time": 0.15, "robots": {"red-9": {}}}'


def arena_match_seeds() -> Iterator[tuple[str, bytes]]:
    """Random wishes."""
    for season in SEASONS:
        # One robot a side: the ways to goals of every model take their time.
        line = {1: scripts.DECKS[season][0][1]}
        yield season, _start(season, [line, line], 7) + random.Random(season).randbytes(300)


def random_bytes(sizes: list[int]) -> Any:
    """Seeds for targets that make numbers of any bytes."""

    def seeds() -> Iterator[tuple[str, bytes]]:
        for size in sizes:
            for kind in range(4):
                yield f"random_{size}_{kind}", bytes([kind]) + random.Random(kind).randbytes(size)

    return seeds


def trex_game_seeds() -> Iterator[tuple[str, bytes]]:
    """Keys at random, in both styles of course, with questions."""
    for seed in range(4):
        stream = random.Random(seed)
        keys = bytes(stream.choice((0, 1, 2, 4, 8, 0x40, 0x81, 0xF0)) for _ in range(120))
        yield f"keys_{seed}", struct.pack("<q", seed) + bytes([seed % 2, seed // 2, 0]) + keys


def runs_jsonl_seeds() -> Iterator[tuple[str, bytes]]:
    """Whole logs, cut ones and damaged ones."""
    lines = b'{"a": [1, 2.5, null]}\n"text \\u00e4"\ntrue\n'
    yield "whole", lines
    yield "cut", lines + b'{"a": 1'
    yield "not_utf8", b'1\n"\xff"\n2\n'
    yield "empty_line", b"1\n\n2\n"
    yield "deep", b"[" * 3000 + b"]" * 3000 + b"\n"
    yield "digits", b"9" * 5000 + b"\n"
    yield "words", b"[NaN, Infinity]\n"
    yield "surrogate", b'"\\ud800"\n'


def systemone_body_seeds() -> Iterator[tuple[str, bytes]]:
    """Requests with every kind of question, wrong ones, and each content encoding."""
    question = {
        "choice": {"type": "choice", "criteria": {"a": "first", "b": None}, "instructions": "?"},
        "listed": {"type": "choice", "criteria": ["x", "y"]},
        "score": {"type": "score", "criteria": ["low", {"text": "high"}]},
        "noul": {"type": "noul", "instructions": {"ask": ["is it", 1.5]}},
    }
    bodies: dict[str, Any] = {
        "all": {"state": {"k": [1.5, None, True]}, "questions": question, "model": "m",
                "temperature": 0.5},
        "text": {"state": "s", "questions": {"q": question["noul"]}},
        "list": {"state": [1, [2, {"a": {}}]], "questions": {"q": question["score"]}},
        "missing": {"state": "s"},
        "wrong": {"state": 1, "questions": {"q": {"type": "box"}}, "assets": [1]},
    }  # fmt: skip
    for name, body in bodies.items():
        yield name, b"\0" + json.dumps(body).encode()
    raw = json.dumps(bodies["all"]).encode()
    yield "gzip", b"\x03" + gzip.compress(raw, mtime=0)
    yield "deflate", b"\x04" + zlib.compress(raw)
    yield "zstd", b"\x05" + zstd.compress(raw)
    yield "cut_gzip", b"\x03" + gzip.compress(raw, mtime=0)[:-9]
    yield "brotli", b"\x06" + raw
    yield "bomb", b"\x03" + gzip.compress(b" " * (2 << 20), mtime=0)
    for name, text in {
        "twice": '{"state": "a", "state": "b", "questions": {}}',
        "nan": '{"state": [NaN], "questions": {}}',
        "huge": '{"state": [1e999], "questions": {}}',
        "surrogate": '{"state": "\\ud800", "questions": {}}',
        "deep": '{"state": ' + "[" * 2000 + "]" * 2000 + ', "questions": {}}',
        "digits": '{"state": [' + "9" * 4500 + '], "questions": {}}',
    }.items():
        yield name, b"\0" + text.encode()


def checkpoints_seeds() -> Iterator[tuple[str, bytes]]:
    """A whole torch file, pickles for given storages, and our own format."""
    config = Config(width=8, depth=2, projection_dim=4, hidden_size=8)
    stream = np.random.default_rng(1)

    def side() -> dict[str, Any]:
        return {
            key: stream.standard_normal(shape).astype(np.float32)
            for key, shape in config.shapes().items()
        }

    saved = {
        "state_head": side(), "action_head": side(), "logit_scale": np.array(2.0, np.float32),
        "cfg": msgspec.structs.asdict(config), "epoch": 3, "metrics": {"loss": 0.5, "name": "ä"},
    }  # fmt: skip
    yield "whole", b"\0" + write_torch(saved)
    compressed = io.BytesIO()
    with (
        zipfile.ZipFile(compressed, "w", zipfile.ZIP_DEFLATED) as archive,
        zipfile.ZipFile(io.BytesIO(write_torch(saved))) as source,
    ):
        for name in source.namelist():
            archive.writestr(zipfile.ZipInfo(name), source.read(name), zipfile.ZIP_DEFLATED)
    yield "deflated", b"\0" + compressed.getvalue()
    yield "no_zip", b"\0" + pickle.dumps({"a": 1}, 2)
    for protocol in (0, 1, 2, 4):
        plain = {"cfg": {"width": 2, "depth": 2}, "logit_scale": 1.5, "state_head": {},
                 "action_head": [1, None, True, (1, 2), "text", b"bytes", {3}]}  # fmt: skip
        yield f"plain_{protocol}", b"\1" + pickle.dumps(plain, protocol)
    with zipfile.ZipFile(io.BytesIO(write_torch({"a": np.zeros(64, np.float32)}))) as source:
        yield "tensor", b"\1" + source.read("checkpoint/data.pkl")
    yield "call", b"\1" + pickle.dumps(print, 2)
    yield "memo", b"\1" + b"\x80\x02Nr" + struct.pack("<I", 1 << 20) + b"."
    tensors = {
        f"{name}.{key}": tensor
        for name in ("state_head", "action_head")
        for key, tensor in saved[name].items()
    } | {"logit_scale": np.array(2.0, np.float32)}
    record = {"cfg": {"kind": "mlp", **msgspec.structs.asdict(config)},
              "weights": "ours.safetensors", "encoder": "e", "pooling": "mean",
              "temperatures": {"noul": 1.5}}  # fmt: skip
    yield "ours", b"\2" + json.dumps(record).encode() + b"\n" + save(tensors)
    for name, text in {
        "no_name": '{"weights": "", "cfg": {}}',
        "cfg_list": '{"weights": "ours.safetensors", "cfg": []}',
        "list": "[1]",
    }.items():
        yield (
            f"ours_{name}",
            b"\2" + text.encode() + b"\n" + save({"logit_scale": np.array(2.0, np.float32)}),
        )


def trex_recording_seeds() -> Iterator[tuple[str, bytes]]:
    """A short recorded match with answers, and records that it cannot have."""
    path = folder() / "made.jsonl"
    record_match(path)
    lines = path.read_bytes().splitlines(keepends=True)
    yield "match", b"".join(lines)
    yield "cut", b"".join(lines)[:-20]
    yield "short", b"".join([lines[0], *lines[-3:]])
    yield "seed", lines[0].replace(b'"seed":3', b'"seed":99999999999999999999')
    yield "call", lines[0] + lines[1].replace(b'"calls":"', b'"calls":"X')
    yield "timing", b"".join(lines).replace(b'"first":[', b'"first":[1e300,')


def record_match(path: Path) -> None:
    """Some frames of a match on the simulated clock, with a planner's answers."""
    conditions = Conditions(
        latency=Fixed(40.0), inflight=2, guarded=False, course="original", frames=90, lockstep=None
    )
    with RecordingFile(path) as file:
        simulate(
            Identity("Careful", 2), 3, conditions, lambda plan: {plan.best: 0.5}, "guided", file
        )


def arc_text_seeds() -> Iterator[tuple[str, bytes]]:
    """Grids, states, actions and replies."""
    grid = "0123\n4567\n89ab\ncdef"
    yield "grid", b"\0" + grid.encode()
    yield "grid_wide", b"\0" + ("0" * 65).encode()
    yield "grid_ragged", b"\0" + b"00\n0"
    yield "state", b"\1" + f"v1|h=4 w=4 l=2 s=NOT_FINISHED\n{grid}".encode()
    yield "state_of", b"\1" + state_text(np.array([[1, 2], [3, 4]]), 1, "WIN").encode()
    for text in ("RESET", "ACTION1", "ACTION7", "ACTION6 x=5 y=63", "ACTION6 x=64 y=0"):
        yield f"action_{text.replace(' ', '_').replace('=', '')}", b"\2" + text.encode()
    yield "action_digits", b"\2" + "ACTION6 x=\u0665 y=\u0663".encode()
    report = {"summary": "a key", "entities": [{"name": "door", "x": 3, "y": "4"}],
              "hypotheses": ["h"], "actions": [{"action": "ACTION6", "x": 3, "y": 4},
                                               "ACTION1", {"action": 3}]}  # fmt: skip
    yield "report", b"\3" + json.dumps(report).encode()
    yield "fenced", b"\3" + f"So:\n```json\n{json.dumps(report)}\n``` done {{".encode()
    yield "named", b"\3" + b"try ACTION6 (x=3, y=4), then action 1 and ACTION6 (12, 70)"
    yield "lesson", b"\3" + b'{"learned": ["a"], "avoid": "b", "next_try": [1, null, "c"]}'


def arena_replay_seeds() -> Iterator[tuple[str, bytes]]:
    """A short recorded match, plain and compressed, and changed ones."""
    raw = recorded_match()
    yield "match", raw
    yield "gzip", gzip.compress(raw, mtime=0)
    yield "cut_gzip", gzip.compress(raw, mtime=0)[:-12]
    found = json.loads(raw)
    for name, change in {
        "seed": {"seed": "x"},
        "season": {"season": "2025"},
        "control": {"control": {}},
        "individual": {"control": {"red": "individual", "blue": "team"}},
        "lineup": {"lineups": {"red": [], "blue": []}},
        "digests": {"tick_digests": "AAA"},
        "keyframes": {"keyframes": {"data": "AAAA"}},
        "truncated": {"truncated": True, "tick_digests": ""},
        "scenario": {"scenario": {"time": 1, "remove": ["red-1"]}},
    }.items():
        yield name, json.dumps({**found, **change}).encode()


def recorded_match() -> bytes:
    """The replay of a second with orders on both sides."""
    game = Game(Setup("2027", 3, dict.fromkeys(TEAMS, lineup.default("2027")), duration_s=1.0))
    spool = io.BytesIO()
    control = dict.fromkeys(TEAMS, "team")
    recorder = Recorder(game, {"swapped": False, "control": control, "strategies": {}}, spool)
    while not game.ended:
        for side, action in (("red", b'{"1":{"move":[1,0]}}'), ("blue", b'{"2":{"spin":1}}')):
            game.act(side, action)  # type: ignore[arg-type]
            recorder.acted(side, action)  # type: ignore[arg-type]
        recorder.advanced(game.advance())
    recorder.finish()
    return assemble(spool)


def arena_env_seeds() -> Iterator[tuple[str, bytes]]:
    """Sessions of every operation, and requests that are refused."""
    step = b'{"id":2,"op":"step","actions":[{"red":{"1":{"move":[1,0]}}},{"blue":{}}]}'
    yield "session", b"\n".join(
        [b'{"id":1,"op":"reset","seeds":[5,"18446744073709551615"]}', step, step,
         b'{"op":"observe","env_ids":[1]}', b'{"op":"save_replay","paths":["a","b"]}',
         b'{"op":"info"}', b'{"id":"x","op":"close"}']
    )  # fmt: skip
    yield "scenario", b'{"op":"reset","scenarios":[{"time":0.5},null],"env_ids":[1,0]}'
    yield from {
        "no_json": b"{",
        "list": b"[1]",
        "id": b'{"id":[],"op":"info"}',
        "big_id": b'{"id":123456789012345678901234567890,"op":"info"}',
        "op": b'{"op":"jump"}',
        "field": b'{"op":"info","x":1}',
        "ids": b'{"op":"observe","env_ids":[0,0]}',
        "seed": b'{"op":"reset","seeds":["' + b"9" * 5000 + b'",1.5]}',
        "action": b'{"op":"step","actions":[{"red":{"9":{}}},{"green":{}}]}',
        "raw": b'{"op":"step","actions":[ {"red": {"1" : { "heading" : 1e-5} } },1]}',
    }.items()


def arena_strategy_seeds() -> Iterator[tuple[str, bytes]]:
    """Answers that are applied, refused, and such as only a broken process writes."""
    for number, season in enumerate(SEASONS):
        by_number = {model["model"]: model for model in Book.of(season).models}
        own = {slot: by_number[model] for slot, model in lineup.default(season).items()}
        dice = random.Random(season)
        texts = [json.dumps(scripts.random_side(dice, own, "blue", [1, 2])) for _ in range(3)]
        yield season, bytes([number]) + "\0".join(texts).encode()
    for name, action in {
        "exponent": b'{"1":{"heading":1e+-5}}',
        "newline": b'{"1":\n{"move":[1,0]}}',
        "utf8": b'{"team":{"say":{"to":"team","text":"\xff"}}}',
        "twice": b'{"1":{"move":[1,0]},"1":{}}',
        "not_finite": b'{"1":{"heading":NaN}}',
        "surrogate": b'{"team":{"say":{"to":"team","text":"\\ud800"}}}',
        "empty": b"",
    }.items():
        yield name, b"\1" + action


def drive_files_seeds() -> Iterator[tuple[str, bytes]]:
    """A map, one small enough to mutate, routes and ticks."""
    data = ROOT / "tests" / "data" / "drive"
    straight = (data / "straight.xodr").read_bytes()
    yield "straight", b"\0" + straight
    yield (
        "routes",
        b"\1"
        + (
            b'<routes><route id="1" town="T"><waypoints><position x="1" y="2" z="0"/>'
            b'<position x="5.5" y="2" z="0"/></waypoints><weathers><weather '
            b'route_percentage="0" cloudiness="5.0"/></weathers><scenarios><scenario name="s" '
            b'type="t"><trigger_point x="1" y="2" z="0" yaw="3"/></scenario></scenarios>'
            b"</route></routes>"
        ),
    )
    store = TickStore()
    tick = {"tick": 1, "sim_time": 0.05, "speed": 3.0, "location": [1.0, 2.0, 0.0]}
    store.append_mapping(tick)
    store.append_mapping({**tick, "tick": 2, "sim_time": 0.1})
    yield "ticks_array", b"\3" + json.dumps([tick, {**tick, "tick": 2}]).encode()
    written = store.dumps()
    yield "ticks", b"\2" + (gzip.decompress(written) if written[:2] == b"\x1f\x8b" else written)


SEEDS = {
    "arc_text": arc_text_seeds,
    "arena_env": arena_env_seeds,
    "arena_replay": arena_replay_seeds,
    "arena_strategy": arena_strategy_seeds,
    "checkpoints": checkpoints_seeds,
    "drive_files": drive_files_seeds,
    "runs_jsonl": runs_jsonl_seeds,
    "systemone_body": systemone_body_seeds,
    "trex_recording": trex_recording_seeds,
    "arena_action": arena_action_seeds,
    "arena_json": arena_json_seeds,
    "arena_match": arena_match_seeds,
    "arena_scenario": arena_scenario_seeds,
    "base64": base64_seeds,
    "drive_wire": drive_wire_seeds,
    "driving_score": random_bytes([200, 1200]),
    "pictures": random_bytes([100, 600]),
    "trex_game": trex_game_seeds,
}


def write(folder: Path = CORPUS) -> int:
    """Write what is missing; how many files that were."""
    count = 0
    for target, seeds in SEEDS.items():
        place = folder / target
        place.mkdir(parents=True, exist_ok=True)
        for name, data in seeds():
            path = place / name
            if not path.exists():
                path.write_bytes(data)
                count += 1
    return count


if __name__ == "__main__":
    print(write())
