"""One robot: fight what is near, resupply, retreat, take cover behind the own outpost."""

from sysone.arena.sdk.solo import Solo

_plan = Solo()
reset, act = _plan.reset, _plan.act
