"""Practice game ppus: push."""

from sysone.arc.practice.engine import practice_game

Ppus = practice_game(
    'ppus',
    mechanics=(('push',), ('push',), ('push',), ('push',), ('push',)),
    seed='practice-1:ppus',
    attempts=(0, 0, 0, 1, 6),
    baselines=(10, 8, 28, 27, 24),
    hud=None,
)
