"""The game at 60 frames a second in plain Python.

Every inherited quirk is kept: the toggle in `Dino.set_duck`, the time base by animation status,
the landing that turns a drop into a duck, and the front obstacle leaving for any that left.
"""

import struct
from math import ceil

from twin.course import course_spec, too_many
from twin.obstacle import FRAME_MS, KINDS, Obstacle, collides, js_round, make_obstacle
from twin.scenery import MS_PER_FRAME, Scenery

SPEED = 6
ACCELERATION = 0.001
MAX_SPEED = 13
CLEAR_TIME_MS = 3000
INTRO_MS = 400
GROUND_Y = 93
MIN_JUMP_Y = 63
MAX_JUMP_Y = 30
GRAVITY = 0.6
DROP_VELOCITY = -5
STATUS_CODES = {"waiting": 0, "running": 1, "jumping": 2, "ducking": 3, "crashed": 4}
KIND_CODES = {name: code for code, name in enumerate(KINDS)}


def jump_step(
    y: int, velocity: float, drop: bool, ms_per_frame: float, dt: float = FRAME_MS
) -> tuple[int, float, bool, bool]:
    """New y, new velocity, reached the minimum height, ended."""
    frames = dt / ms_per_frame
    y += js_round(velocity * 3 * frames) if drop else js_round(velocity * frames)
    velocity += GRAVITY * frames
    return y, velocity, y < MIN_JUMP_Y or drop, y < MAX_JUMP_Y or drop


class Dino:
    def __init__(self, scenery: Scenery | None) -> None:
        self.scenery = scenery
        self.x = self.x_initial = 0
        self.y = GROUND_Y
        self.velocity = 0.0
        self.jumping = self.ducking = self.speed_drop = self.reached_min_height = False
        self.jump_count = 0
        self.playing_intro = False
        self.status = "waiting"

    def update(self, dt: float, status: str | None = None) -> None:
        if status is not None:
            self.status = status
        if self.playing_intro and self.x < 50:
            self.x += js_round(50 / 1500 * dt)
            self.x_initial = self.x
        if self.scenery is not None:
            self.scenery.animate(dt, self.status, status is not None)
        if self.speed_drop and self.y == GROUND_Y:
            self.speed_drop = False
            self.set_duck(True)

    def start_jump(self, speed: float) -> None:
        if self.jumping:
            return
        self.update(0, "jumping")
        self.velocity = -10 - speed / 10
        self.jumping = True
        self.reached_min_height = False
        self.speed_drop = False

    def update_jump(self, dt: float) -> None:
        self.y, self.velocity, reached, ended = jump_step(
            self.y, self.velocity, self.speed_drop, MS_PER_FRAME[self.status], dt
        )
        self.reached_min_height |= reached
        if ended and self.reached_min_height and self.velocity < DROP_VELOCITY:
            self.velocity = float(DROP_VELOCITY)
        if self.y > GROUND_Y:
            self.reset()
            self.jump_count += 1

    def set_speed_drop(self) -> None:
        self.speed_drop = True
        self.velocity = 1.0

    def set_duck(self, on: bool) -> None:
        if on and self.status != "ducking":
            self.update(0, "ducking")
            self.ducking = True
        elif self.status == "ducking":
            self.update(0, "running")
            self.ducking = False

    def reset(self) -> None:
        self.x = self.x_initial
        self.y = GROUND_Y
        self.velocity = 0.0
        self.jumping = self.ducking = False
        self.update(0, "running")  # a drop that is still on turns this landing into a duck
        self.speed_drop = False
        self.jump_count = 0


class Game:
    def __init__(
        self,
        seed: int = 0,
        style: str = "original",
        invincible: bool = False,
        scenery: bool = False,
    ) -> None:
        self.seed, self.style, self.invincible = seed, style, invincible
        self.scenery = Scenery(seed) if scenery else None
        self.dino = Dino(self.scenery)
        self.run_index = self.obstacle_index = 0
        self.speed: float = SPEED
        self.distance = self.running_time = self.intro_ms = self.crash_ms = 0.0
        self.playing = self.activated = self.playing_intro = self.crashed = self.paused = False
        self.deaths = self.high_score = 0
        self.obstacles: list[Obstacle] = []
        self.history: list[str] = []
        self.events: list[str] = []
        self.made = 0
        self.clear_score()
        self.inverted = False
        self.invert_timer = 0.0

    # keys

    def press_jump(self) -> None:
        if self.crashed:
            return
        if not self.playing:
            self.playing = True
            self.step()
        if not self.dino.jumping and not self.dino.ducking:
            self.events.append("press")
            self.dino.start_jump(self.speed)

    def press_duck(self) -> None:
        if not self.playing or self.crashed:
            return
        if self.dino.jumping:
            self.dino.set_speed_drop()
        elif not self.dino.ducking:
            self.dino.set_duck(True)

    def release_duck(self) -> None:
        self.dino.speed_drop = False
        self.dino.set_duck(False)

    def restart(self) -> None:
        if not self.crashed:
            return
        self.run_index += 1
        self.obstacle_index = 0
        self.history = []
        self.running_time = self.distance = 0.0
        self.playing = True
        self.paused = self.crashed = False
        self.speed = SPEED
        self.clear_score()
        self.obstacles = []
        if self.scenery is not None:
            self.scenery.restart()
        self.dino.reset()
        self.events.append("press")
        self.inverted = False
        self.invert_timer = 0.0
        if self.scenery is not None:
            self.scenery.clear_restart()
        self.step()

    # one frame

    def step(self) -> None:
        dt = FRAME_MS
        dino, scenery = self.dino, self.scenery
        if scenery is not None:
            scenery.fade(dt, self.inverted)
        if self.crashed:
            self.crash_ms += dt
            if scenery is not None:
                scenery.crashed(dt)
            return
        if self.playing:
            if dino.jumping:
                dino.update_jump(dt)
            self.running_time += dt
            if dino.jump_count == 1 and not self.playing_intro and not self.activated:
                self.playing_intro = dino.playing_intro = self.activated = True
                self.intro_ms = 0.0
            if self.playing_intro:
                self.update_horizon(0, night=False)
                self.intro_ms += dt
                if self.intro_ms >= INTRO_MS:
                    self.running_time = 0.0
                    self.playing_intro = dino.playing_intro = False
            else:
                if not self.activated:
                    dt = 0.0
                self.update_horizon(dt, self.inverted)
            if self.hits():
                self.game_over()
            else:
                self.distance += self.speed * dt / FRAME_MS
                if self.speed < MAX_SPEED:
                    self.speed += ACCELERATION
            self.update_score(dt)
            self.update_night(dt)
        # The waiting dinosaur blinks three times; nothing else of it changes before the start.
        blinks = scenery is not None and not self.activated and scenery.blink_count < 3
        if self.playing or blinks:
            dino.update(dt)

    def hits(self) -> bool:
        if self.running_time <= CLEAR_TIME_MS or not self.obstacles or self.invincible:
            return False
        dino, first = self.dino, self.obstacles[0]
        return collides(
            dino.x, dino.y, dino.ducking, first.x, first.y, first.width, first.height, first.boxes
        )

    def game_over(self) -> None:
        self.events.append("hit")
        self.playing = False
        self.paused = self.crashed = True
        self.deaths += 1
        self.achievement = False
        self.crash_ms = 0.0
        if self.scenery is not None:
            self.scenery.clear_restart()
        if self.dino.ducking:
            self.dino.x += 1
        self.dino.update(100, "crashed")
        if self.distance > self.high_score:
            self.high_score = ceil(self.distance)

    def update_horizon(self, dt: float, night: bool) -> None:
        if self.scenery is not None:
            self.scenery.update(dt, self.speed, night)
        if self.running_time <= CLEAR_TIME_MS:
            return
        left = 0
        for obstacle in self.obstacles:
            if not obstacle.removed:
                obstacle.move(self.speed, dt)
                left += obstacle.removed
        del self.obstacles[:left]
        if not self.obstacles:
            self.add_obstacle()
            return
        last = self.obstacles[-1]
        if not last.following_created and 0 < last.x + last.width < 600 - last.gap:
            self.add_obstacle()
            last.following_created = True

    def add_obstacle(self) -> None:
        place = (self.seed, self.run_index, self.obstacle_index, self.speed, self.history)
        spec = course_spec(self.style, *place)
        if too_many(spec.kind, self.history) or self.speed < KINDS[spec.kind].min_speed:
            spec = course_spec("original", *place, source="rule")
        self.made += 1
        self.obstacles.append(make_obstacle(spec, self.speed, self.made))
        self.obstacle_index += 1
        self.history = [spec.kind, *self.history][:2]

    # score and night

    @property
    def score(self) -> int:
        return js_round(ceil(self.distance) * 0.025)

    def clear_score(self) -> None:
        self.shown_score = 0
        self.score_visible = True
        self.achievement = False
        self.flash_timer = 0.0
        self.flash_iterations = 0

    def update_score(self, dt: float) -> None:
        self.score_visible = True
        if not self.achievement:
            self.shown_score = self.score
            if self.score > 0 and self.score % 100 == 0:
                self.achievement = True
                self.flash_timer = 0.0
                self.events.append("score")
        elif self.flash_iterations <= 3:
            self.flash_timer += dt
            if self.flash_timer < 250:
                self.score_visible = False
            elif self.flash_timer > 500:
                self.flash_timer = 0.0
                self.flash_iterations += 1
        else:
            self.achievement = False
            self.flash_timer = 0.0
            self.flash_iterations = 0

    def update_night(self, dt: float) -> None:
        if self.invert_timer > 12000:
            self.invert_timer = 0.0
            self.inverted = False
        elif self.invert_timer:
            self.invert_timer += dt
        elif self.score > 0 and self.score % 700 == 0:
            self.invert_timer = dt
            self.inverted = True

    # the state as bytes

    @property
    def trex_flags(self) -> int:
        dino = self.dino
        return (
            dino.jumping | dino.ducking << 1 | dino.speed_drop << 2 | dino.reached_min_height << 3
        )

    def packed_record(self) -> bytes:
        dino = self.dino
        record = struct.pack(
            "<iidBBdddiiB",
            dino.x,
            dino.y,
            dino.velocity,
            self.trex_flags,
            STATUS_CODES[dino.status],
            self.speed,
            self.distance,
            self.running_time,
            self.score,
            len(self.obstacles),
            self.playing | self.crashed << 1 | self.activated << 2 | self.playing_intro << 3,
        )
        return record + b"".join(
            struct.pack("<iBiiidi", o.x, KIND_CODES[o.kind], o.size, o.width, o.y, o.offset, o.gap)
            for o in self.obstacles
        )


CALLS = {
    "J": Game.press_jump,
    "D": Game.press_duck,
    "U": Game.release_duck,
    "R": Game.restart,
}
