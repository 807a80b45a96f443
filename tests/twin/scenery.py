"""What is only drawn, in plain Python: the dinosaur's animation, clouds, ground, night.

It has a random stream of its own, so that what a game does never depends on it.
"""

from math import ceil, floor
from random import Random

from twin.course import random_int

SPRITES = {
    "waiting": (44, 0),
    "running": (88, 132),
    "jumping": (0,),
    "ducking": (264, 323),
    "crashed": (220,),
}
MS_PER_FRAME = {
    "waiting": 1000 / 3,
    "running": 1000 / 12,
    "jumping": 1000 / 60,
    "ducking": 1000 / 8,
    "crashed": 1000 / 60,
}
CLOUD_WIDTH = 46
MAX_CLOUDS = 6
MOON_PHASES = 7
FADE = 0.035


class Scenery:
    def __init__(self, seed: int) -> None:
        self.stream = Random(f"scenery-{seed}")
        # the dinosaur
        self.sprite = self.frame = self.blink_count = 0
        self.timer = self.clock = self.blink_start = 0.0
        self.blink_delay = self.draw_blink_delay()
        # the night
        self.opacity = 0.0
        self.phase = 0
        self.moon_x = 0.0
        self.draw_stars = False
        self.place_stars()
        self.invert_fade = 0.0
        # clouds: x, y, gap to the next
        self.clouds: list[list[int]] = []
        self.add_cloud()
        self.ground_x = [0, 600]
        self.ground_texture = [0, 600]
        self.restart_frame = 0
        self.restart_timer = 0.0

    def draw_blink_delay(self) -> int:
        return ceil(self.stream.random() * 7000)

    def place_stars(self) -> None:
        self.stars = [
            [random_int(self.stream, 300 * i, 300 * (i + 1)), random_int(self.stream, 0, 70)]
            for i in range(2)
        ]

    def add_cloud(self) -> None:
        gap = random_int(self.stream, 100, 400)
        self.clouds.append([600, random_int(self.stream, 30, 71), gap])

    def animate(self, dt: float, status: str, fresh: bool) -> None:
        """One update of the dinosaur; ``fresh`` when it has just been given this status."""
        self.clock += dt
        self.timer += dt
        if fresh:
            self.frame = 0
        sprites = SPRITES[status]
        if status != "waiting":
            self.sprite = sprites[self.frame]
        elif self.clock - self.blink_start >= self.blink_delay:
            self.sprite = sprites[self.frame]
            if self.frame == 1:
                self.blink_start = self.clock
                self.blink_delay = self.draw_blink_delay()
                self.blink_count += 1
        if self.timer >= MS_PER_FRAME[status]:
            self.frame = (self.frame + 1) % len(sprites)
            self.timer = 0.0

    def fade(self, dt: float, inverted: bool) -> None:
        step = dt / 1500
        self.invert_fade = min(1.0, max(0.0, self.invert_fade + (step if inverted else -step)))

    def crashed(self, dt: float) -> None:
        self.restart_timer += dt
        if self.restart_frame == 0 and self.restart_timer > 875:
            self.restart_timer = 0.0
            self.restart_frame = 1
        elif 0 < self.restart_frame < 7:
            self.restart_frame += 1

    def clear_restart(self) -> None:
        self.restart_frame = 0
        self.restart_timer = 0.0

    def restart(self) -> None:
        self.ground_x = [0, 600]
        self.phase = 0
        self.opacity = 0.0
        self.update_night(False)

    def update(self, dt: float, speed: float, night: bool) -> None:
        self.update_ground(floor(speed * (60 / 1000) * dt))
        self.update_night(night)
        self.update_clouds(ceil(0.2 / 1000 * dt * speed))

    def update_ground(self, pixels: int) -> None:
        x = self.ground_x
        lead = 0 if x[0] <= 0 else 1
        x[lead] -= pixels
        x[1 - lead] = x[lead] + 600
        if x[lead] <= -600:
            x[lead] += 1200
            x[1 - lead] = x[lead] - 600
            self.ground_texture[lead] = 600 if self.stream.random() > 0.5 else 0

    def update_clouds(self, pixels: int) -> None:
        if not self.clouds:
            self.add_cloud()
            return
        for cloud in self.clouds:
            cloud[0] -= pixels
        x, _, gap = self.clouds[-1]
        if len(self.clouds) < MAX_CLOUDS and 600 - x > gap and self.stream.random() < 0.5:
            self.add_cloud()
        self.clouds = [cloud for cloud in self.clouds if cloud[0] + CLOUD_WIDTH > 0]

    def update_night(self, on: bool) -> None:
        if on and self.opacity == 0:
            self.phase = (self.phase + 1) % MOON_PHASES
        if on and self.opacity < 1:
            self.opacity += FADE
        elif self.opacity > 0:
            self.opacity -= FADE
        if self.opacity > 0:
            self.moon_x = drifted(self.moon_x, 0.25)
            if self.draw_stars:
                self.stars = [[drifted(x, 0.3), y] for x, y in self.stars]
        else:
            self.opacity = 0.0
            self.place_stars()
        self.draw_stars = True


def drifted(x: float, pixels: float) -> float:
    return 600 if x < -20 else x - pixels
