"""Practice game hsli: slide."""

from sysone.arc.practice.engine import practice_game

Hsli = practice_game(
    'hsli',
    mechanics=(('slide',), ('slide',), ('slide',), ('slide',), ('slide',)),
    seed='practice-1:hsli',
    attempts=(1, 1, 0, 2, 0),
    baselines=(3, 3, 6, 4, 8),
    hud='lamps',
)
