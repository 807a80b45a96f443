"""Practice game hund: undo."""

from sysone.arc.practice.engine import practice_game

Hund = practice_game(
    'hund',
    mechanics=(('undo',), ('undo',), ('undo',), ('undo',), ('undo',)),
    seed='practice-1:hund',
    attempts=(1, 15, 4, 102, 121),
    baselines=(6, 8, 10, 14, 14),
    hud='lamps',
)
