"""Practice game hkey: key."""

from sysone.arc.practice.engine import practice_game

Hkey = practice_game(
    'hkey',
    mechanics=(('key',), ('key',), ('key',), ('key',), ('key',)),
    seed='practice-1:hkey',
    attempts=(1, 0, 0, 0, 0),
    baselines=(8, 19, 10, 16, 15),
    hud='top',
)
