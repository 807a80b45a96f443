"""Practice game hani: animated."""

from sysone.arc.practice.engine import practice_game

Hani = practice_game(
    'hani',
    mechanics=(('animated',), ('animated',), ('animated',), ('animated',), ('animated',)),
    seed='practice-1:hani',
    attempts=(1, 0, 0, 1, 0),
    baselines=(5, 3, 6, 9, 8),
    hud='bottom',
)
