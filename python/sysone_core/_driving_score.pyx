# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: freethreading_compatible=True
"""Cython border of csrc/drive/fold: which events do recorded ticks hold? See driving_score.py."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

import numpy as np

cdef extern from "drive/fold.h" namespace "drive" nogil:
    cdef cppclass Contact:
        int64_t tick
        int64_t actor
        uint8_t kind
    cdef cppclass TickColumns:
        size_t count
        const double* sim_time
        const double* speed
        const double* completion
        const double* location
        const uint8_t* red
        const uint8_t* junction
        const int64_t* road
        const uint8_t* road_known
        const Contact* contacts
        size_t contact_count
    cdef cppclass FoldRules:
        bint debounced
        bint red_from_ticks
        bint deviation_from_ticks
        bint blocked_strict
        bint blocked_ends
        double blocked_speed
        double blocked_s
        double reached_percent
        const int64_t* roads
        size_t road_count
    cdef cppclass FoldEvent:
        int32_t kind
        int64_t index
        int64_t length
    cdef cppclass Fold:
        double penalty
        size_t counted
        vector[FoldEvent] events
    Fold _fold "drive::fold_columns"(const TickColumns& ticks, const FoldRules& rules)

cdef uint8_t NO_EVENT = 255


cpdef int per_tick_class(actor):
    """Class of an actor by the earlier harness's rule: pedestrian, then vehicle, else static."""
    if actor is None:
        return 0
    cdef str lowered = (<str>actor).lower()
    if "pedestrian" in lowered or "walker" in lowered:
        return 1
    return 2 if "vehicle" in lowered else 0


cpdef int official_class(actor):
    """Class of an actor by Bench2Drive's criterion; 255 for one that is no event."""
    cdef str name = "static" if not actor else <str>actor
    if ("static" in name or "traffic" in name) and "sidewalk" not in name:
        return 0
    if "vehicle" in name:
        return 2
    return 1 if "walker" in name else 255


cdef object _result(Fold& fold):
    cdef list events = []
    cdef FoldEvent event
    for event in fold.events:
        events.append((event.kind, event.index, event.length))
    return fold.penalty, fold.counted, events


def fold_columns(
    const double[::1] sim_time not None, const double[::1] speed not None,
    const double[::1] completion not None, const double[:, ::1] location not None,
    const uint8_t[::1] red not None, const uint8_t[::1] junction not None,
    const int64_t[::1] road not None, const uint8_t[::1] road_known not None,
    contacts not None, road_ids=None, *,
    bint debounced=False, bint red_from_ticks=True, bint deviation_from_ticks=True,
    double blocked_speed=0.05, double blocked_s=30.0, bint blocked_strict=False,
    bint blocked_ends=False, double reached_percent=99.0,
):
    """Penalty, counted ticks and events; see driving_score.py."""
    cdef Py_ssize_t n = sim_time.shape[0]
    cdef TickColumns ticks
    cdef FoldRules rules
    cdef vector[Contact] found
    cdef vector[int64_t] roads
    cdef Contact contact
    cdef Fold fold
    for length in (speed.shape[0], completion.shape[0], location.shape[0], red.shape[0],
                   junction.shape[0], road.shape[0], road_known.shape[0]):
        if length != n:
            raise ValueError(f"columns of {n} and {length} ticks")
    if location.shape[1] != 3:
        raise ValueError("location must have three columns")
    cdef int64_t before = -1
    for tick, actor, kind in contacts:
        contact.tick = tick
        contact.actor = actor
        contact.kind = kind
        if contact.tick < 0 or contact.tick >= n or contact.tick < before:
            raise ValueError(f"contact at tick {tick} of {n}, expected ascending ticks")
        before = contact.tick
        found.push_back(contact)
    if road_ids is not None:
        for road_id in sorted(road_ids):
            roads.push_back(road_id)
    ticks.count = n
    if n > 0:
        ticks.sim_time = &sim_time[0]
        ticks.speed = &speed[0]
        ticks.completion = &completion[0]
        ticks.location = &location[0, 0]
        ticks.red = &red[0]
        ticks.junction = &junction[0]
        ticks.road = &road[0]
        ticks.road_known = &road_known[0]
    ticks.contacts = found.data()
    ticks.contact_count = found.size()
    rules.debounced = debounced
    rules.red_from_ticks = red_from_ticks
    rules.deviation_from_ticks = deviation_from_ticks
    rules.blocked_strict = blocked_strict
    rules.blocked_ends = blocked_ends
    rules.blocked_speed = blocked_speed
    rules.blocked_s = blocked_s
    rules.reached_percent = reached_percent
    rules.roads = roads.data()
    rules.road_count = roads.size()
    with nogil:
        fold = _fold(ticks, rules)
    return _result(fold)


def fold_dicts(list ticks not None, road_ids=None, *, bint debounced=False, **rules):
    """The same over a list of dictionaries."""
    cdef Py_ssize_t n = len(ticks)
    cdef double[::1] sim_time = np.empty(n)
    cdef double[::1] speed = np.zeros(n)
    cdef double[::1] completion = np.zeros(n)
    cdef double[:, ::1] location = np.zeros((n, 3))
    cdef uint8_t[::1] red = np.zeros(n, dtype=np.uint8)
    cdef uint8_t[::1] junction = np.zeros(n, dtype=np.uint8)
    cdef int64_t[::1] road = np.zeros(n, dtype=np.int64)
    cdef uint8_t[::1] road_known = np.zeros(n, dtype=np.uint8)
    cdef list contacts = []
    cdef dict tick
    cdef Py_ssize_t i
    cdef dict kinds = {}
    for i in range(n):
        tick = ticks[i]
        sim_time[i] = tick["sim_time"]
        value = tick.get("ego_speed")
        if value is not None:
            speed[i] = value
        value = tick.get("route_completion")
        if value is not None:
            completion[i] = value
        value = tick.get("traffic_light_state")
        if value is not None and value == "Red":
            red[i] = 1
        if tick.get("is_junction"):
            junction[i] = 1
        value = tick.get("road_id")
        if value is not None:
            road[i] = value
            road_known[i] = 1
        if debounced:
            value = tick.get("ego_location")
            if value is not None:
                location[i, 0], location[i, 1], location[i, 2] = value
        if tick.get("collision_impulse") is not None:
            actor = tick.get("collision_actor")
            kind = kinds.get(actor)
            if kind is None:
                kind = kinds[actor] = official_class(actor) if debounced else per_tick_class(actor)
            contacts.append((i, tick.get("collision_actor_id") or 0, kind))
    return fold_columns(
        sim_time, speed, completion, location, red, junction, road, road_known, contacts,
        road_ids, debounced=debounced, **rules)
