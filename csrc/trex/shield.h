// The live shield: lets an action through when it survives, and finds one that does otherwise.
#pragma once

#include "trex/snapshot.h"

namespace sysone::trex {

inline constexpr int kUrgentFrames = 12;
inline constexpr int kShieldHorizon = 42;

// `urgent` frames are checked when the motion does not change, up to `horizon` frames when it does.
// The snapshot's pending answer plays no part.
Action protect(const Snapshot& snap, Action action, int urgent = kUrgentFrames,
               int horizon = kShieldHorizon);

}  // namespace sysone::trex
