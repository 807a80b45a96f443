"""Random games, moments and timings for property tests, and the way to the compiled core."""

from typing import Any

from hypothesis import strategies as st

from sysone_core import trex as core
from twin import planner
from twin.engine import MAX_SPEED, SPEED
from twin.obstacle import KINDS, Spec, make_obstacle
from twin.planner import ACTIONS, ObstacleView, Snapshot, Trex

seeds = st.integers(-3, 10**6) | st.integers(-(2**63), 2**63 - 1)
styles = st.sampled_from(["original", "staged"])
actions = st.sampled_from(ACTIONS)
held_keys = st.sampled_from(["run", "duck"])
letters = st.text(alphabet="JDUR", max_size=3)
# (keys, frames that follow): long stretches reach obstacles, short ones are what fingers do.
plays = st.lists(
    st.tuples(letters, st.integers(0, 4) | st.integers(5, 60) | st.integers(61, 400)), max_size=25
)
# Whole speeds and those that accumulated additions give; thresholds are met exactly.
speeds = st.sampled_from([6, 7, 8.5, 9.1, 10, 13, 7.000000000000334, 13.000999999997896]) | (
    st.floats(SPEED, MAX_SPEED + 0.001)
)


@st.composite
def trexes(draw: st.DrawFn, speed: float) -> Trex:
    """A state that some keys lead to, from standing on the ground."""
    state = planner.GROUND
    for action, frames in draw(
        st.lists(st.tuples(actions, st.integers(0, 20)), min_size=0, max_size=3)
    ):
        if action == "jump":
            state = planner.impulse_jump(state, speed)
        for _ in range(frames):
            state = planner.trex_frame(planner.enforce(state, planner.after(action)))
            state = planner.end_of_frame(state)
    return state


@st.composite
def views(draw: st.DrawFn, speed: float) -> tuple[ObstacleView, ...]:
    """Up to four obstacles in the order of their places, some of them passed."""
    found = []
    x = draw(st.integers(-40, 560))
    for number in range(1, draw(st.integers(0, 4)) + 1):
        kind = draw(st.sampled_from(list(KINDS)))
        spec = Spec(
            kind,
            draw(st.integers(1, 3)),
            draw(st.sampled_from((100, 75, 50))),
            faster=draw(st.booleans()),
        )
        o = make_obstacle(spec, speed, number)
        found.append(
            ObstacleView(o.id, o.label, o.bird, x, o.y, o.width, o.height, o.offset, o.boxes)
        )
        x += draw(st.integers(0, 320))
    return tuple(view for view in found if view.x < 600)


@st.composite
def moments(draw: st.DrawFn) -> Snapshot:
    speed = draw(speeds)
    return Snapshot(
        draw(trexes(speed)),
        draw(st.sampled_from([0, 23, 24]) | st.integers(0, 50)),
        speed,
        draw(views(speed)),
        draw(held_keys),
        draw(st.sampled_from([True, True, True, False])),
        draw(st.none() | actions),
    )


@st.composite
def timings(
    draw: st.DrawFn,
) -> tuple[tuple[float, float], tuple[float, float], float | None]:
    """First, gap and period in frames: mostly sensible, sometimes the wrong way round."""
    low = draw(st.integers(0, 30) | st.sampled_from([0.5, 1.5, 2.5, 3.49, -1.0]))
    high = low + draw(st.integers(0, 12) | st.sampled_from([0.5, 1.0, -3.0]))
    first = (low, high)
    gap = draw(
        st.just(first) | st.tuples(st.integers(0, 12), st.integers(0, 12) | st.floats(0, 12))
    )
    period = draw(st.none() | st.integers(1, 24) | st.sampled_from([0, 0.3, 1.5, 2.5]))
    return first, gap, period


def core_moment(snap: Snapshot) -> core.Snapshot:
    return core.Snapshot(
        core.TrexState(*snap.trex),
        snap.trex_x,
        snap.speed,
        [core.ObstacleView(*view) for view in snap.obstacles],
        snap.held,
        snap.playing,
        snap.pending,
    )


def twin_moment(snap: core.Snapshot) -> Snapshot:
    return Snapshot(
        Trex(*snap.trex.astuple()),
        snap.trex_x,
        snap.speed,
        tuple(
            ObstacleView(
                view.id,
                view.label,
                view.bird,
                view.x,
                view.y,
                view.width,
                view.height,
                view.offset,
                tuple(view.boxes),
            )
            for view in snap.obstacles
        ),
        snap.held,
        snap.playing,
        snap.pending,
    )


def plain(value: Any) -> Any:
    """Lists where there may be tuples, so that drawn states of both sides compare."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def plan_fields(plan: Any) -> dict[str, Any]:
    """Every field of a plan of either side, with the order of its mappings."""
    return {
        "safe": list(plan.safe.items()),
        "best": plan.best,
        "airborne": plan.airborne,
        "threat": plan.threat,
        "ahead": plan.ahead,
        "distance": plan.distance,
        "eta_ms": plan.eta_ms,
        "notes": list(plan.notes.items()),
        "states": plan.states,
        "robust": plan.robust,
        "subjects": tuple(plan.subjects),
        "safe_actions": list(plan.safe_actions),
    }
