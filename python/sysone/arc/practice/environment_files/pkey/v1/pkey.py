"""Practice game pkey: key."""

from sysone.arc.practice.engine import practice_game

Pkey = practice_game(
    'pkey',
    mechanics=(('key',), ('key',), ('key',), ('key',), ('key',)),
    seed='practice-1:pkey',
    attempts=(0, 0, 2, 0, 0),
    baselines=(8, 15, 14, 15, 18),
    hud=None,
)
