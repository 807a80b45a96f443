"""Practice game hcyc: cycle."""

from sysone.arc.practice.engine import practice_game

Hcyc = practice_game(
    'hcyc',
    mechanics=(('cycle',), ('cycle',), ('cycle',), ('cycle',), ('cycle',)),
    seed='practice-1:hcyc',
    attempts=(0, 0, 0, 0, 0),
    baselines=(4, 7, 9, 5, 16),
    hud='lamps',
)
