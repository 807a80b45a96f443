"""Practice game hmaz: maze."""

from sysone.arc.practice.engine import practice_game

Hmaz = practice_game(
    'hmaz',
    mechanics=(('maze',), ('maze',), ('maze',), ('maze',), ('maze',)),
    seed='practice-1:hmaz',
    attempts=(2, 0, 0, 0, 0),
    baselines=(10, 9, 18, 29, 17),
    hud='bottom',
)
