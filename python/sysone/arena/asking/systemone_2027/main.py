"""A System One model decides what every armed robot does."""

from sysone.arena.asked import Asked

_plan = Asked()
reset, act, teardown = _plan.reset, _plan.act, _plan.close
