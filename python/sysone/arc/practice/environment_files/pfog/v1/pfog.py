"""Practice game pfog: fog."""

from sysone.arc.practice.engine import practice_game

Pfog = practice_game(
    'pfog',
    mechanics=(('fog',), ('fog',), ('fog',), ('fog',), ('fog',)),
    seed='practice-1:pfog',
    attempts=(1, 0, 1, 1, 0),
    baselines=(9, 9, 16, 11, 22),
    hud=None,
)
