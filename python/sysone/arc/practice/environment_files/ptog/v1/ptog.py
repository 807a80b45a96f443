"""Practice game ptog: toggle."""

from sysone.arc.practice.engine import practice_game

Ptog = practice_game(
    'ptog',
    mechanics=(('toggle',), ('toggle',), ('toggle',), ('toggle',), ('toggle',)),
    seed='practice-1:ptog',
    attempts=(0, 0, 0, 0, 0),
    baselines=(3, 3, 4, 4, 5),
    hud=None,
)
