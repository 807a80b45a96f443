"""Practice game hcol: collect."""

from sysone.arc.practice.engine import practice_game

Hcol = practice_game(
    'hcol',
    mechanics=(('collect',), ('collect',), ('collect',), ('collect',), ('collect',)),
    seed='practice-1:hcol',
    attempts=(0, 0, 0, 0, 0),
    baselines=(12, 9, 17, 17, 26),
    hud='top',
)
