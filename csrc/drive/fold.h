// Penalty folding: which events do the recorded ticks of a drive hold, and what do they cost?
//
// A tick is a row of columns; contacts are sparse, so they come as a list of their own, in tick
// order and the strongest of a tick first. Comparisons with NaN are false, as in the Python twin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace drive {

enum EventKind : std::int32_t { kStatic, kPedestrian, kVehicle, kRedLight, kBlocked, kDeviation };
constexpr std::uint8_t kNoEvent = 255;  // a contact of this class is remembered and not counted

struct Contact {
    std::int64_t tick;   // index of the tick
    std::int64_t actor;  // 0 is the static world
    std::uint8_t kind;   // EventKind, or kNoEvent
};

// Borrowed columns of `count` ticks.
struct TickColumns {
    std::size_t count;
    const double* sim_time;
    const double* speed;
    const double* completion;
    const double* location;  // x, y, z of each tick
    const std::uint8_t* red;
    const std::uint8_t* junction;
    const std::int64_t* road;
    const std::uint8_t* road_known;
    const Contact* contacts;
    std::size_t contact_count;
};

struct FoldRules {
    bool debounced;
    bool red_from_ticks;
    bool deviation_from_ticks;
    bool blocked_strict;
    bool blocked_ends;
    double blocked_speed;
    double blocked_s;
    double reached_percent;
    const std::int64_t* roads;  // ascending
    std::size_t road_count;     // 0 switches the deviation rule off
};

struct FoldEvent {
    std::int32_t kind;
    std::int64_t index;
    std::int64_t length;  // ticks
};

struct Fold {
    double penalty;
    std::size_t counted;  // ticks up to the end of the drive by the rules
    std::vector<FoldEvent> events;
};

Fold fold_columns(const TickColumns& ticks, const FoldRules& rules);

}  // namespace drive
