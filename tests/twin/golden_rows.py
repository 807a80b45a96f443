"""From rows of the golden files to the twin's classes and back."""

from typing import Any

from twin.engine import KIND_CODES, STATUS_CODES, Game
from twin.obstacle import KINDS, Spec
from twin.planner import ACTIONS, ObstacleView, Plan, Snapshot, Trex

KIND_NAMES = tuple(KINDS)


def spec_row(spec: Spec) -> list[Any]:
    return [KIND_CODES[spec.kind], spec.size, spec.y, spec.gap, int(spec.faster)]


def trex(row: list[Any]) -> Trex:
    return Trex(*row)


def snapshot(row: dict[str, Any]) -> Snapshot:
    return Snapshot(
        trex(row["trex"]),
        row["trex_x"],
        row["speed"],
        tuple(
            ObstacleView(*view[:8], tuple(tuple(box) for box in view[8]))
            for view in row["obstacles"]
        ),
        row["held"],
        row["playing"],
        row["pending"],
    )


def plan_row(plan: Plan) -> dict[str, Any]:
    return {
        "safe": [int(plan.safe[action]) for action in ACTIONS],
        "best": plan.best,
        "airborne": plan.airborne,
        "threat": plan.threat,
        "ahead": plan.ahead,
        "distance": plan.distance,
        "eta_ms": plan.eta_ms,
        "notes": [plan.notes[action] for action in ACTIONS],
        "states": plan.states,
        "robust": plan.robust,
        "subjects": list(plan.subjects),
    }


def scenery_row(game: Game) -> dict[str, Any]:
    scenery = game.scenery
    assert scenery is not None
    return {
        "clouds": scenery.clouds,
        "horizon_x": scenery.ground_x,
        "horizon_source": scenery.ground_texture,
        "night": [
            scenery.opacity,
            scenery.moon_x,
            scenery.phase,
            scenery.draw_stars,
            scenery.stars,
        ],
        "blink": [scenery.blink_count, scenery.blink_delay],
        "invert_timer": game.invert_timer,
        "invert_fade": scenery.invert_fade,
        "trex_sprite": scenery.sprite,
        "trex_anim_frame": scenery.frame,
        "trex_timer": scenery.timer,
    }


def frame_row(game: Game) -> list[Any]:
    flags = (
        game.playing,
        game.crashed,
        game.activated,
        game.playing_intro,
        game.inverted,
        game.achievement,
        game.score_visible,
        game.paused,
    )
    dino = game.dino
    return [
        dino.x,
        dino.y,
        dino.velocity,
        game.trex_flags,
        STATUS_CODES[dino.status],
        dino.jump_count,
        game.speed,
        game.distance,
        game.running_time,
        game.score,
        game.shown_score,
        sum(flag << bit for bit, flag in enumerate(flags)),
        [
            [
                o.id,
                KIND_CODES[o.kind],
                o.x,
                o.size,
                o.width,
                o.y,
                o.offset,
                o.gap,
                o.frame,
                int(o.following_created),
            ]
            for o in game.obstacles
        ],
    ]
