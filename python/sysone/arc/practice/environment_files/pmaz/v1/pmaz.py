"""Practice game pmaz: maze."""

from sysone.arc.practice.engine import practice_game

Pmaz = practice_game(
    'pmaz',
    mechanics=(('maze',), ('maze',), ('maze',), ('maze',), ('maze',)),
    seed='practice-1:pmaz',
    attempts=(0, 1, 3, 0, 5),
    baselines=(17, 12, 13, 30, 16),
    hud=None,
)
