"""``submit``: a strategy is checked, plays four games, and is packed with what came of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from sysone.arena import match as matches
from sysone.arena import pairing, sources, validation
from sysone.arena.agents import archive, registry
from sysone.arena.engine import Setup
from sysone.arena.errors import ArenaError
from sysone.arena.isolation import Isolation
from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import season_named

SEEDS: Final = (0, 1)
"""Each on both sides."""


def submit(
    ref: str,
    target: Path,
    *,
    isolation: Isolation,
    limits: matches.Limits,
    duration_s: float | None,
    folder: Path | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Check, play and pack a strategy; ``folder`` is a registry that gets a copy.

    Returns the submission with ``ok``; what fails the check or breaks in a game is not packed.

    Raises:
        ArenaError: there is no such strategy, or ``target`` is there.
    """
    if target.exists():
        raise ArenaError("exists", f"{target} is already there")
    strategy = sources.find(ref)
    head = strategy.manifest.strategy
    report = validation.validate(
        ref, self_play_s=2.0, timeout_s=limits.timeout_s, isolation=isolation
    )
    submission: dict[str, Any] = {
        "format": archive.FORMAT,
        "key": head.key,
        "version": head.version,
        "version_hash": strategy.version_hash,
        "season": head.season,
        "mode": head.mode,
        "fingerprints": dict(Book.of(season_named(head.season)).fingerprints),
        "checks": report["checks"],
        "results": [],
    }
    ok = bool(report["ok"])
    if ok:
        for number, line in enumerate(_games(strategy, limits, isolation, duration_s)):
            note(f"game {number + 1}/{2 * len(SEEDS)}: {line['status']}, {line['outcome']}")
            submission["results"].append(line)
            ok = ok and line["status"] == "ok"
    if ok:
        archive.write(target, strategy.folder, submission)
        if folder is not None:
            registry.add(folder, target.read_bytes())
    return {"type": "submit", "ok": ok, "file": target.name if ok else None, **submission}


def _games(
    strategy: sources.Strategy,
    limits: matches.Limits,
    isolation: Isolation,
    duration_s: float | None,
) -> Any:
    head = strategy.manifest.strategy
    ref = str(strategy.folder.resolve())
    if head.mode == "team":
        pair = pairing.standard(season_named(head.season), ref, None, None)
    else:
        # A robot alone meets itself: there is no deck that holds.
        pair = pairing.deck(None, ([ref], [ref]), ("individual", "individual"), (None, None))
    for seed in SEEDS:
        for swapped in (False, True):
            sides = pair.swapped() if swapped else pair
            setup = Setup(pair.season, seed, sides.lineups, pair.mode, duration_s=duration_s)
            result = matches.play(
                setup, sides.sides, limits, swapped=swapped, isolation=isolation
            ).result
            yield {
                key: result[key]
                for key in ("seed", "swapped", "status", "outcome", "winner", "reason", "digest")
            }
