"""Roles: a push together, an assembler, a guard, runes, darts and radar."""

from sysone.arena.sdk.plans import Push

_plan = Push()
reset, act = _plan.reset, _plan.act
