"""Practice game pani: animated."""

from sysone.arc.practice.engine import practice_game

Pani = practice_game(
    'pani',
    mechanics=(('animated',), ('animated',), ('animated',), ('animated',), ('animated',)),
    seed='practice-1:pani',
    attempts=(0, 1, 0, 0, 1),
    baselines=(4, 7, 5, 9, 10),
    hud=None,
)
