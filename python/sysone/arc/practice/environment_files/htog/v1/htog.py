"""Practice game htog: toggle."""

from sysone.arc.practice.engine import practice_game

Htog = practice_game(
    'htog',
    mechanics=(('toggle',), ('toggle',), ('toggle',), ('toggle',), ('toggle',)),
    seed='practice-1:htog',
    attempts=(0, 0, 0, 0, 0),
    baselines=(3, 3, 4, 4, 5),
    hud='right',
)
