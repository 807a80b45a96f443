"""All shooters go to the enemy outpost at once, then to the base."""

from sysone.arena.sdk.plans import Rush

_plan = Rush()
reset, act = _plan.reset, _plan.act
