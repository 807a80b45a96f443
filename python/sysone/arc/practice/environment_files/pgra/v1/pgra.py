"""Practice game pgra: gravity."""

from sysone.arc.practice.engine import practice_game

Pgra = practice_game(
    'pgra',
    mechanics=(('gravity',), ('gravity',), ('gravity',), ('gravity',), ('gravity',)),
    seed='practice-1:pgra',
    attempts=(0, 0, 0, 2, 5),
    baselines=(5, 4, 8, 8, 5),
    hud=None,
)
