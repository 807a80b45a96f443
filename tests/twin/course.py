"""Where obstacles come from: both course styles, as pure functions."""

from collections.abc import Sequence
from math import floor
from random import Random

from twin.obstacle import KINDS, PTERODACTYL, Spec


def random_int(stream: Random, low: int, high: int) -> int:
    return floor(stream.random() * (high - low + 1)) + low


def too_many(kind: str, history: Sequence[str]) -> bool:
    """Whether the last two obstacles were of this kind (``history`` is most recent first)."""
    count = 0
    for name in history:
        count = count + 1 if name == kind else 0
    return count >= 2


def phase(index: int, speed: float) -> tuple[str, float]:
    """The staged course's phase and its smallest gap."""
    if index < 3 or speed < 7:
        return "Warm-up", 0.85
    if speed < 8.5:
        return "Sprint", 0.55
    if speed < 9.1:
        return "Bird attack", 0.45
    return "Final challenge", 0.25


def course_spec(
    style: str,
    seed: int,
    run_index: int,
    index: int,
    speed: float,
    history: Sequence[str] = (),
    source: str = "random",
) -> Spec:
    stream = Random(f"course-{seed}-{run_index}-{index}")
    names = list(KINDS)
    while True:
        kind = KINDS[names[random_int(stream, 0, 2)]]
        if not too_many(kind.name, history) and speed >= kind.min_speed:
            break
    size = random_int(stream, 1, 3)
    y = kind.ys[random_int(stream, 0, 2)] if kind is PTERODACTYL else kind.ys[0]
    gap = stream.random()
    faster = stream.random() > 0.5
    spec = Spec(kind.name, size, y, gap, faster, source)
    if style == "original":
        return spec
    name, floor_gap = phase(index, speed)
    if name == "Bird attack" and not too_many(PTERODACTYL.name, history):
        spec = spec._replace(kind=PTERODACTYL.name, size=1, y=(75, 50, 100)[index % 3])
    return spec._replace(size=1 if name == "Warm-up" else spec.size, gap=max(spec.gap, floor_gap))
