"""Practice game hsta: stack."""

from sysone.arc.practice.engine import practice_game

Hsta = practice_game(
    'hsta',
    mechanics=(('stack',), ('stack',), ('stack',), ('stack',), ('stack',)),
    seed='practice-1:hsta',
    attempts=(0, 0, 0, 0, 0),
    baselines=(6, 6, 4, 8, 8),
    hud='top',
)
