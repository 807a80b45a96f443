"""Practice game phaz: hazard."""

from sysone.arc.practice.engine import practice_game

Phaz = practice_game(
    'phaz',
    mechanics=(('hazard',), ('hazard',), ('hazard',), ('hazard',), ('hazard',)),
    seed='practice-1:phaz',
    attempts=(0, 9, 1, 6, 1),
    baselines=(5, 7, 9, 14, 19),
    hud=None,
)
