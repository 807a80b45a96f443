"""Player summaries and file summaries, value for value and in the published order."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec

from sysone.trex.report import SeedRow, Settings, summarise
from sysone.trex.score import Statistics

Golden = Callable[[str, str], Any]


def text(value: Any) -> str:
    # As text, 464 and 464.0 differ and so do orders of keys.
    return json.dumps(value, ensure_ascii=False)


def test_player_summaries(golden: Golden) -> None:
    for case in golden("trex", "report.json")["stats"]:
        stats = Statistics(
            finished_scores=case["finished_scores"],
            input_tokens=case["tokens"],
            errors=case["errors"],
            last_error=case["last_error"],
            discarded=case["discarded"],
            arrival_saves=case["arrival_saves"],
            emergency_saves=case["emergency_saves"],
        )
        rows = case["decisions[latency_ms,inference_ms,plan_ms,robust,intervened,agreed]"]
        for row in rows:
            stats.record(*row)
        expected = case["summary"]
        summary = stats.summary(
            SimpleNamespace(**case["game"]),
            model=expected["model"],
            where=expected["where"],
            usd_per_token=case["usd_per_token"],
        )
        assert text(msgspec.to_builtins(summary)) == text(expected)


def test_file_summaries(golden: Golden) -> None:
    for case in golden("trex", "report.json")["summaries"]:
        rows = [msgspec.convert(row, SeedRow) for row in case["results"]]
        expected = case["summary"]
        settings = msgspec.convert(
            {name: expected[name] for name in Settings.__struct_fields__}, Settings
        )
        assert text(msgspec.to_builtins(summarise(rows, settings))) == text(expected)
        # Our additions come after the published fields and never in between.
        for row, published in zip(rows, case["results"], strict=True):
            assert list(msgspec.to_builtins(row))[: len(published)] == list(published)
