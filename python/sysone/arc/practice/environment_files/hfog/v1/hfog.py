"""Practice game hfog: fog."""

from sysone.arc.practice.engine import practice_game

Hfog = practice_game(
    'hfog',
    mechanics=(('fog',), ('fog',), ('fog',), ('fog',), ('fog',)),
    seed='practice-1:hfog',
    attempts=(1, 2, 0, 0, 0),
    baselines=(6, 23, 20, 18, 25),
    hud='top',
)
