"""Practice game hpus: push."""

from sysone.arc.practice.engine import practice_game

Hpus = practice_game(
    'hpus',
    mechanics=(('push',), ('push',), ('push',), ('push',), ('push',)),
    seed='practice-1:hpus',
    attempts=(2, 0, 0, 1, 2),
    baselines=(12, 12, 18, 19, 23),
    hud='right',
)
