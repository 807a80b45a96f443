"""Practice game hgra: gravity."""

from sysone.arc.practice.engine import practice_game

Hgra = practice_game(
    'hgra',
    mechanics=(('gravity',), ('gravity',), ('gravity',), ('gravity',), ('gravity',)),
    seed='practice-1:hgra',
    attempts=(0, 0, 0, 0, 2),
    baselines=(3, 4, 7, 10, 18),
    hud='bottom',
)
