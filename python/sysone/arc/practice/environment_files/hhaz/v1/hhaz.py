"""Practice game hhaz: hazard."""

from sysone.arc.practice.engine import practice_game

Hhaz = practice_game(
    'hhaz',
    mechanics=(('hazard',), ('hazard',), ('hazard',), ('hazard',), ('hazard',)),
    seed='practice-1:hhaz',
    attempts=(0, 0, 0, 12, 11),
    baselines=(8, 14, 9, 11, 13),
    hud='right',
)
