"""Practice game pund: undo."""

from sysone.arc.practice.engine import practice_game

Pund = practice_game(
    'pund',
    mechanics=(('undo',), ('undo',), ('undo',), ('undo',), ('undo',)),
    seed='practice-1:pund',
    attempts=(0, 0, 19, 8, 7),
    baselines=(7, 7, 10, 12, 13),
    hud=None,
)
