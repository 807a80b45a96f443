"""Practice game hord: ordered."""

from sysone.arc.practice.engine import practice_game

Hord = practice_game(
    'hord',
    mechanics=(('ordered',), ('ordered',), ('ordered',), ('ordered',), ('ordered',)),
    seed='practice-1:hord',
    attempts=(0, 0, 0, 0, 0),
    baselines=(3, 4, 5, 6, 6),
    hud='bottom',
)
