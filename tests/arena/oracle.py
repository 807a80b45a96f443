"""A second implementation in plain Python: numbers, random words, raster, one robot's motion.

Written from the rules, not from the core, and slow; tests hold the core to it.
"""

import math
from fractions import Fraction
from typing import Any

TURN = 1 << 20
CELL = 50


def trunc(a: int, b: int) -> int:
    """Integer division toward zero."""
    return -(-a // b) if (a < 0) != (b < 0) else a // b


def clamp(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))


SIN: list[int] = []


def fill_sines() -> None:
    """From series in rationals, so that not even the libm is shared."""
    pi = Fraction(
        3141592653589793238462643383279502884197169399375105820974944592307816406286, 10**75
    )
    for k in range(4097):
        angle = 2 * pi * (k if k <= 2048 else k - 4096) / 4096
        if angle > pi / 2:
            angle = pi - angle
        elif angle < -pi / 2:
            angle = -pi - angle
        x = Fraction(int(angle * 10**40), 10**40)
        total = term = x
        n = 1
        while abs(term) > Fraction(1, 10**20):
            term = Fraction(int(-term * x * x / ((n + 1) * (n + 2)) * 10**40), 10**40)
            total += term
            n += 2
        scaled = total * 2**30
        SIN.append(
            math.floor(scaled + Fraction(1, 2))
            if scaled >= 0
            else -math.floor(-scaled + Fraction(1, 2))
        )


def sine(angle: int) -> int:
    if not SIN:
        fill_sines()
    i, f = (angle % TURN) >> 8, angle & 255
    return SIN[i] + trunc((SIN[i + 1] - SIN[i]) * f, 256)


def cosine(angle: int) -> int:
    return sine(angle + TURN // 4)


def turn_between(a: int, b: int) -> int:
    d = (b - a) % TURN
    return d - TURN if d > TURN // 2 else d


def philox(counter: list[int], key: list[int]) -> list[int]:
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


class Raster:
    """Ground, solids, gates and rough ground of a season."""

    def __init__(self, field: dict[str, Any], season: str) -> None:
        self.columns, self.rows = (s // CELL for s in field["size_mm"])
        n = self.columns * self.rows
        self.ground, self.solid = [0] * n, [0] * n
        self.rough, self.gate = [100] * n, [-1] * n
        self.gates: list[dict[str, Any]] = []
        for item in self._of(field["ground"], season):
            for cell, copy, x, y in self._cells(item):
                z = item.get("z")
                if z is None:
                    slope, r = item["slope"], item["rect"]
                    c, c0, c1 = (x, r[0], r[2]) if slope["axis"] == "x" else (y, r[1], r[3])
                    low, high = slope["z_at_min"], slope["z_at_max"]
                    z = low + trunc((high - low) * (c - c0), c1 - c0)
                self.ground[cell] = z
                self.ground[copy] = z
        for item in self._of(field["solids"], season):
            for cell, copy, _, _ in self._cells(item):
                self.solid[cell] = self.solid[copy] = item["top"]
        for item in self._of(field["walls"]["items"], season):
            for cell, copy, _, _ in self._cells(item):
                self.solid[cell] = self.ground[cell] + item["h"]
                self.solid[copy] = self.ground[copy] + item["h"]
        for item in self._of(field["rough"], season):
            for cell, copy, _, _ in self._cells(item):
                self.rough[cell] = self.rough[copy] = item["speed_pct"]
        for item in self._of(field["gates"], season):
            self.gates.append(item)
            for cell, copy, _, _ in self._cells(item):
                self.gate[cell] = self.gate[copy] = len(self.gates) - 1

    @staticmethod
    def _of(items: list[dict[str, Any]], season: str) -> list[dict[str, Any]]:
        return [item for item in items if season in item.get("seasons", [season])]

    def _cells(self, item: dict[str, Any]) -> list[tuple[int, int, int, int]]:
        """Cell, its copy turned round, and the cell's centre."""
        found = []
        for j in range(self.rows):
            y = CELL * j + CELL // 2
            for i in self._span(item):
                x = CELL * i + CELL // 2
                if inside(item, x, y):
                    cell = j * self.columns + i
                    found.append((cell, self.columns * self.rows - 1 - cell, x, y))
        return found

    def _span(self, item: dict[str, Any]) -> range:
        xs: list[int] = []
        if "rect" in item:
            xs = item["rect"][::2]
        elif "poly" in item:
            xs = [x for x, _ in item["poly"]]
        elif "circle" in item:
            x, _, r = item["circle"]
            xs = [x - r, x + r]
        else:
            xs = item["seg"][::2]
        return range(max(0, min(xs) // CELL - 2), min(self.columns, max(xs) // CELL + 3))

    def blocked(self, radius: int) -> list[bool]:
        out = [False] * (self.columns * self.rows)
        reach = radius // CELL
        disc = [
            (u, v)
            for v in range(-reach, reach + 1)
            for u in range(-reach, reach + 1)
            if CELL * CELL * (u * u + v * v) <= radius * radius
        ]
        for cell, solid in enumerate(self.solid):
            j, i = divmod(cell, self.columns)
            x, y = CELL * i + CELL // 2, CELL * j + CELL // 2
            if min(x, y, self.columns * CELL - x, self.rows * CELL - y) < radius:
                out[cell] = True
            if solid:
                for u, v in disc:
                    if 0 <= i + u < self.columns and 0 <= j + v < self.rows:
                        out[cell + v * self.columns + u] = True
        return out


def inside(item: dict[str, Any], x: int, y: int) -> bool:
    if "rect" in item:
        x0, y0, x1, y1 = item["rect"]
        return bool(x0 <= x < x1 and y0 <= y < y1)
    if "circle" in item:
        cx, cy, r = item["circle"]
        return bool((x - cx) ** 2 + (y - cy) ** 2 <= r * r)
    if "seg" in item:
        x0, y0, x1, y1 = item["seg"]
        dx, dy = x1 - x0, y1 - y0
        size = dx * dx + dy * dy
        t = min(Fraction(1), max(Fraction(0), Fraction((x - x0) * dx + (y - y0) * dy, size)))
        return bool((x - x0 - t * dx) ** 2 + (y - y0 - t * dy) ** 2 <= 50 * 50)
    result = False
    corners = item["poly"]
    for (xi, yi), (xj, yj) in zip(corners, corners[-1:] + corners[:-1], strict=True):
        if (yi > y) != (yj > y) and x < xi + Fraction((xj - xi) * (y - yi), yj - yi):
            result = not result
    return result


class Walker:
    """One red robot that drives in safe mode over the free field."""

    def __init__(
        self, raster: Raster, model: dict[str, Any], settings: dict[str, Any], x: int, y: int
    ) -> None:
        self.raster, self.model, self.s = raster, model, settings
        self.blocked = raster.blocked(model["radius_mm"])
        self.x, self.y = x * 1000, y * 1000
        self.vx = self.vy = self.yaw = self.rate = 0
        self.limit = model["power_w"][0] * 1000
        self.buffer, self.energy = 60000, 20000000
        self.before = self.demand_now = 0
        self.stuck = False

    @property
    def cell(self) -> int:
        return self.y // 50000 * self.raster.columns + self.x // 50000

    def omega(self) -> int:
        return trunc(self.rate * 6283185 * 20, TURN * 1000)

    def demand(self, v: int, v0: int) -> int:
        m = self.model["mass_kg"]
        return (
            3000
            + m * (6 * v + 69 * v * v // 10000) // 20
            + m * max(0, v - v0) * v // 35
            + self.omega() ** 2 // 2000
        )

    def tick(self, t: int, mx: int, my: int, spin: int) -> None:
        size = math.isqrt(mx * mx + my * my)
        if size > 1000:
            mx, my = trunc(mx * 1000, size), trunc(my * 1000, size)
        self.turn(spin)
        self.drive(mx, my)
        self.displace()
        if t % 2 == 0:
            self.settle()

    def turn(self, spin: int) -> None:
        top = trunc(self.model["spin_mrad_s"] * TURN * 1000, 6283185 * 20)
        most = math.isqrt(self.limit // 2 * 2000)
        cap = min(top, trunc(most * TURN * 1000, 6283185 * 20))
        wanted = clamp(trunc(spin * top, 1000), -cap, cap)
        step = top * 25 // 100
        self.rate += clamp(wanted - self.rate, -step, step)
        self.yaw = (self.yaw + self.rate) % TURN

    def drive(self, mx: int, my: int) -> None:
        before = math.isqrt(self.vx**2 + self.vy**2)
        most = self.model["accel_mm_s2"] // 20
        left = max(0, self.limit - 3000 - self.omega() ** 2 // 2000)
        cap = self.model["speed_mm_s"] * math.isqrt(left * 10**6 // 80000) // 1000
        cap = cap * self.raster.rough[self.cell] // 100
        gate = self.raster.gate[self.cell]
        if gate >= 0:
            cap = cap * self.raster.gates[gate].get("speed_pct", 100) // 100
        dx = trunc(mx * cap, 1000) - self.vx
        dy = trunc(my * cap, 1000) - self.vy
        change = math.isqrt(dx * dx + dy * dy)
        if change > most:
            dx, dy = trunc(dx * most, change), trunc(dy * most, change)
        vx, vy = self.vx + dx, self.vy + dy
        speed = math.isqrt(vx * vx + vy * vy)
        if self.demand(speed, before) > self.limit:
            floor = min(max(0, before - most), speed)
            kept = next(
                v
                for v in range(speed, floor - 1, -1)
                if v == floor or self.demand(v, before) <= self.limit
            )
            vx, vy = trunc(vx * kept, speed), trunc(vy * kept, speed)
        self.vx, self.vy = vx, vy
        self.before = self.demand_now
        self.demand_now = self.demand(math.isqrt(vx * vx + vy * vy), before)

    def allowed(self, x: int, y: int) -> bool:
        width, height = self.raster.columns * 50000, self.raster.rows * 50000
        if not (0 < x < width and 0 < y < height):
            return False
        to, here = y // 50000 * self.raster.columns + x // 50000, self.cell
        if to == here:
            return True
        if self.blocked[to]:
            return False
        gates = [
            self.raster.gates[g] for g in (self.raster.gate[here], self.raster.gate[to]) if g >= 0
        ]
        can = [g for g in gates if g["need"] in self.model["passes"]]
        if self.raster.gate[to] >= 0:
            gate = self.raster.gates[self.raster.gate[to]]
            if gate["need"] == "tunnel" and gate not in can:
                return False
        rise = self.raster.ground[to] - self.raster.ground[here]
        return abs(rise) <= 60 or (abs(rise) <= 420 and bool(can))

    def displace(self) -> None:
        wx, wy = self.vx * 50, self.vy * 50
        self.stuck = False
        n = max(1, -(-max(abs(wx), abs(wy)) // 50000))
        refused = [False, False]

        def go(dx: int, dy: int) -> bool:
            if (dx, dy) == (0, 0) or not self.allowed(self.x + dx, self.y + dy):
                return False
            self.x += dx
            self.y += dy
            return True

        if (wx, wy) == (0, 0):
            return
        for k in range(1, n + 1):
            dx = trunc(wx * k, n) - trunc(wx * (k - 1), n)
            dy = trunc(wy * k, n) - trunc(wy * (k - 1), n)
            if go(dx, dy):
                continue
            ways = [((dx, 0), 1), ((0, dy), 0)]
            if abs(dx) < abs(dy):
                ways.reverse()
            for (px, py), other in ways:
                if go(px, py):
                    refused[other] = True
                    break
            else:
                refused = [True, True]
                break
        self.vx = 0 if refused[0] else self.vx
        self.vy = 0 if refused[1] else self.vy
        self.stuck = any(refused)

    def settle(self) -> None:
        power = (self.before + self.demand_now) // 2
        self.buffer = min(60000, self.buffer + trunc(self.limit - power, 10))
        self.energy = max(0, self.energy - power // 10)
