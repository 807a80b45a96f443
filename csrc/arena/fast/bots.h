// Opponents that need no Python: hold and rush decide as the bundled strategies of these names do,
// from what a side observes and nothing else; random gives random commands.
#pragma once

#include <array>

#include "arena/core/sim.h"
#include "arena/fast/navigator.h"

namespace sysone::arena {

enum class Bot : Word { kNone, kHold, kRush, kRandom };

// What a bot remembers of a match; begins empty.
struct BotMemory {
    std::array<RobotAction, kSlots> commands;
};

// The action of a side for the coming decision.
SideAction decide(Bot bot, Sim& sim, int team, Navigator& navigator, BotMemory& memory);

}  // namespace sysone::arena
