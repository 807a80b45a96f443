"""Practice game pcyc: cycle."""

from sysone.arc.practice.engine import practice_game

Pcyc = practice_game(
    'pcyc',
    mechanics=(('cycle',), ('cycle',), ('cycle',), ('cycle',), ('cycle',)),
    seed='practice-1:pcyc',
    attempts=(2, 0, 0, 0, 0),
    baselines=(3, 3, 5, 5, 10),
    hud=None,
)
