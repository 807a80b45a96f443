"""Everybody stays in the start area, aims by itself and buys ammunition."""

from sysone.arena.sdk.plans import Hold

_plan = Hold()
reset, act = _plan.reset, _plan.act
