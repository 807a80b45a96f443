"""The deterministic match simulator (compiled).

Integer arithmetic throughout: the same rules, line-ups, seed and actions give the same digests on
every machine. Texts are UTF-8 JSON; the rules' text is made by `sysone.arena.rules.book`.
"""

from sysone_core._arena import (
    ENEMY_COLUMNS,
    GLOBAL_COLUMNS,
    MATE_COLUMNS,
    ORDERS,
    OWN_COLUMNS,
    SOURCES_SHA256,
    TICKS_PER_SECOND,
    VERSION,
    Rules,
    RulesError,
    SimBatch,
    Simulator,
    atan2,
    cosine,
    isqrt,
    philox,
    seccomp_filter,
    sine,
    state_fields,
    xxh64,
)

__all__ = [
    "ENEMY_COLUMNS",
    "GLOBAL_COLUMNS",
    "MATE_COLUMNS",
    "ORDERS",
    "OWN_COLUMNS",
    "SOURCES_SHA256",
    "TICKS_PER_SECOND",
    "VERSION",
    "Rules",
    "RulesError",
    "SimBatch",
    "Simulator",
    "atan2",
    "cosine",
    "isqrt",
    "philox",
    "seccomp_filter",
    "sine",
    "state_fields",
    "xxh64",
]
