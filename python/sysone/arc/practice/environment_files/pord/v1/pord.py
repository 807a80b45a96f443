"""Practice game pord: ordered."""

from sysone.arc.practice.engine import practice_game

Pord = practice_game(
    'pord',
    mechanics=(('ordered',), ('ordered',), ('ordered',), ('ordered',), ('ordered',)),
    seed='practice-1:pord',
    attempts=(0, 0, 0, 0, 0),
    baselines=(3, 4, 5, 6, 6),
    hud=None,
)
