"""Practice game psta: stack."""

from sysone.arc.practice.engine import practice_game

Psta = practice_game(
    'psta',
    mechanics=(('stack',), ('stack',), ('stack',), ('stack',), ('stack',)),
    seed='practice-1:psta',
    attempts=(0, 0, 0, 0, 0),
    baselines=(6, 4, 6, 8, 8),
    hud=None,
)
