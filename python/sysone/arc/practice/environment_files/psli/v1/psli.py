"""Practice game psli: slide."""

from sysone.arc.practice.engine import practice_game

Psli = practice_game(
    'psli',
    mechanics=(('slide',), ('slide',), ('slide',), ('slide',), ('slide',)),
    seed='practice-1:psli',
    attempts=(2, 0, 1, 2, 6),
    baselines=(4, 6, 8, 9, 5),
    hud=None,
)
