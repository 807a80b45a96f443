"""Practice game pcol: collect."""

from sysone.arc.practice.engine import practice_game

Pcol = practice_game(
    'pcol',
    mechanics=(('collect',), ('collect',), ('collect',), ('collect',), ('collect',)),
    seed='practice-1:pcol',
    attempts=(0, 0, 0, 0, 0),
    baselines=(8, 16, 20, 22, 40),
    hud=None,
)
