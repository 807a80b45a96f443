"""The rasterised field: equal to a second implementation, symmetric, and open where it must be."""

from array import array
from collections import deque

import pytest

from arena import oracle
from sysone.arena import lineup
from sysone.arena.rules import models
from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import SEASONS, Season


@pytest.fixture(scope="module", params=SEASONS)
def book(request: pytest.FixtureRequest) -> Book:
    return Book.of(request.param)


@pytest.fixture(scope="module")
def raster(book: Book) -> oracle.Raster:
    return oracle.Raster(book.field, book.season)


def test_rasters_are_those_of_a_second_implementation(book: Book, raster: oracle.Raster) -> None:
    rules = book.compiled
    assert rules.size == (560, 300) == (raster.columns, raster.rows)
    ground = array("h", rules.ground())
    assert list(ground) == raster.ground
    top = [max(g, s) for g, s in zip(raster.ground, raster.solid, strict=True)]
    assert list(array("h", rules.top())) == top
    assert list(rules.rough()) == raster.rough
    assert [g > 0 for g in rules.gates()] == [g >= 0 for g in raster.gate]
    for radius in sorted({m["radius_mm"] for m in book.models if m["chassis"] != "flyer"}):
        model = next(m["model"] for m in book.models if m["radius_mm"] == radius)
        assert [bool(b) for b in rules.blocked(model)] == raster.blocked(radius)


def test_the_field_is_symmetric(book: Book) -> None:
    rules = book.compiled
    for words in (array("h", rules.ground()), array("h", rules.top()), array("B", rules.rough())):
        assert list(words) == list(words)[::-1]


def spawns(book: Book, season: Season) -> list[tuple[int, int]]:
    points = book.field["points"]
    places = {**points["spawn"], **(points["spawn_2027"] if season == "2027" else {})}
    return [(x, y) for slot, (x, y, *_) in places.items() if slot != "6"] + [
        (x, y) for x, y in points["deck_spawn"]
    ]


def test_every_spawn_is_free(book: Book) -> None:
    for model in book.models:
        if model["chassis"] == "flyer":
            continue
        blocked = book.compiled.blocked(model["model"])
        for x, y in spawns(book, book.season):
            assert blocked[y // 50 * 560 + x // 50] == 0, (model["model"], x, y)


def test_every_zone_is_reachable_without_a_gate(book: Book, raster: oracle.Raster) -> None:
    zones = array("i", book.compiled.zones())
    for radius in sorted({m["radius_mm"] for m in book.models if m["chassis"] != "flyer"}):
        blocked = raster.blocked(radius)
        tunnels = [g >= 0 and raster.gates[g]["need"] == "tunnel" for g in raster.gate]
        x, y = spawns(book, book.season)[0]
        seen = bytearray(len(blocked))
        start = y // 50 * 560 + x // 50
        seen[start] = 1
        queue = deque([start])
        while queue:
            here = queue.popleft()
            for step in (1, -1, 560, -560):
                to = here + step
                if (
                    not 0 <= to < len(seen)
                    or (abs(step) == 1 and to // 560 != here // 560)
                    or seen[to]
                    or blocked[to]
                    or tunnels[to]
                    or abs(raster.ground[to] - raster.ground[here]) > 60
                ):
                    continue
                seen[to] = 1
                queue.append(to)
        reached = 0
        for cell, bits in enumerate(zones):
            if seen[cell]:
                reached |= bits
        wanted = 0
        for bits in zones:
            wanted |= bits
        wanted &= ~(3 << 16)  # penalty lanes aside
        assert reached & wanted == wanted, f"radius {radius}"
        for sx, sy in spawns(book, book.season):
            assert seen[sy // 50 * 560 + sx // 50]
            assert seen[(15000 - sy) // 50 * 560 + (28000 - sx) // 50]


def test_flow_leads_to_the_goal(book: Book) -> None:
    model = lineup.default(book.season)[3]
    cost = array("H", book.compiled.flow(model, 14000, 3000))
    here = 6625 // 50 * 560 + 3875 // 50
    assert cost[here] < 65535
    steps = 0
    while cost[here] > 0:
        here = min(
            (here + v * 560 + u for v in (-1, 0, 1) for u in (-1, 0, 1)), key=lambda c: cost[c]
        )
        steps += 1
        assert steps < 2000
    assert here == 3000 // 50 * 560 + 14000 // 50


def test_models_of_both_seasons() -> None:
    assert len(models.numbers("2026")) == 11
    assert len(models.numbers("2027")) == 11
