"""Write csrc/arena/core/tables.inc: sine and arc tangent in exact integer arithmetic.

    python tools/arena/make_tables.py > csrc/arena/core/tables.inc

Every value is computed with 200 guard bits from series in integers, so that the table does not
depend on a maths library. A test holds the file to this program.
"""

import hashlib

GUARD = 200
ONE = 1 << GUARD
QUARTER_STEPS = 1024
CORDIC_STEPS = 20


def arctan_inverse(n: int) -> int:
    """``atan(1/n)`` in units of ``1/ONE``."""
    term = ONE // n
    total, k, sign = term, 1, -1
    while term:
        term //= n * n
        k += 2
        total += sign * (term // k)
        sign = -sign
    return total


PI = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))  # Machin


def sine(angle: int) -> int:
    """The sine of ``angle / ONE`` radians, 0 to a quarter turn, in units of ``1/ONE``."""
    term, total, k = angle, angle, 1
    square = angle * angle >> GUARD
    while term:
        term = -(term * square >> GUARD) // ((k + 1) * (k + 2))
        if term == -1:  # floor division of a vanishing negative term
            break
        total += term
        k += 2
    return total


def nearest(value: int, shift: int) -> int:
    """``value / 2**shift`` to the nearest integer, halves away from zero; value at least 0."""
    return (value + (1 << (shift - 1))) >> shift


def sines() -> list[int]:
    """``round(2**30 * sin(2 pi k / 4096))`` for k in 0..4096."""
    quarter = [
        nearest(sine(2 * PI * k // (4 * QUARTER_STEPS)), GUARD - 30)
        for k in range(QUARTER_STEPS + 1)
    ]
    half = quarter + quarter[-2::-1]
    return half + [-value for value in half[1:]]


def arc_tangents() -> list[int]:
    """``round(2**30 * atan(2**-k) / (2 pi))`` for k in 0..19."""
    values = [PI // 4] + [arctan_inverse(1 << k) for k in range(1, CORDIC_STEPS)]
    return [(value * (1 << 31) // (2 * PI) + 1) >> 1 for value in values]


def rows(values: list[int]) -> list[str]:
    """Eight values a line."""
    return [
        "    " + " ".join(f"{value}," for value in values[i : i + 8])
        for i in range(0, len(values), 8)
    ]


def render() -> str:
    """The file's text."""
    sine_rows, arc_rows = rows(sines()), rows(arc_tangents())
    digest = hashlib.sha256("\n".join(sine_rows + arc_rows).encode()).hexdigest()
    return "\n".join(
        [
            "// Made by tools/arena/make_tables.py; do not edit.",
            f"// SHA-256 of the rows: {digest}",
            "// clang-format off",
            "constexpr std::array<std::int32_t, 4097> kSin = {{",
            *sine_rows,
            "}};",
            "constexpr std::array<std::int32_t, 20> kAtan = {{",
            *arc_rows,
            "}};",
            "// clang-format on",
            "",
        ]
    )


if __name__ == "__main__":
    print(render(), end="")
