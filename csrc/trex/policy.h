// Players that need no model: they know the plan and, some of them, a die.
#pragma once

#include <cstdint>

#include "common/python_random.h"
#include "trex/planner.h"

namespace sysone::trex {

enum class Policy : std::uint8_t {
    kPlannerBest,  // the planner's best action
    kRandomSafe,   // a random one of the safe actions, of all where none is
    kRandom,       // a random action
    kHold,         // no decisions: keys stay as they are
};

// What a policy draws from: the actions in their order.
struct Drawn {
    PerAction<Action> actions{};
    int count = 0;
};

inline Drawn drawn_from(const Plan& plan, Policy policy) {
    if (policy == Policy::kRandom || !plan.any_safe()) return {kAllActions, kActions};
    Drawn drawn;
    for (const Action action : kAllActions) {
        if (plan.safe[index(action)]) {
            drawn.actions[static_cast<std::size_t>(drawn.count++)] = action;
        }
    }
    return drawn;
}

}  // namespace sysone::trex
