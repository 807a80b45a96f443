// The dinosaur as planner and shield see it: a small value and its pure transitions. One frame is
// enforce, fall, the collision test, settle; this equals the engine with a player's held key.
#pragma once

#include <array>
#include <cstdint>

#include "trex/constants.h"
#include "trex/dino.h"

namespace sysone::trex {

// In the order of every list of actions.
enum class Action : std::uint8_t { kJump, kDuck, kRun };
inline constexpr int kActions = 3;
inline constexpr std::array<Action, kActions> kAllActions = {Action::kJump, Action::kDuck,
                                                             Action::kRun};

enum class Held : std::uint8_t { kRun, kDuck };

// The key left held by an action: a jump is a tap.
constexpr Held after(Action action) { return action == Action::kDuck ? Held::kDuck : Held::kRun; }
constexpr Action as_action(Held held) { return held == Held::kDuck ? Action::kDuck : Action::kRun; }

enum class Pose : std::uint8_t { kRun, kJump, kDuck };

struct TrexState {
    double velocity = 0;
    int y = kGroundY;
    bool jumping = false;
    bool ducking = false;
    bool speed_drop = false;
    bool reached = false;
    Pose pose = Pose::kRun;

    friend bool operator==(const TrexState&, const TrexState&) = default;
};

inline constexpr TrexState kOnGround{};
inline constexpr TrexState kDropLanding{0, kGroundY, false, true, false, false, Pose::kDuck};

TrexState enforce(TrexState state, Held held);
TrexState impulse_jump(const TrexState& state, double speed);
TrexState fall(TrexState state);
TrexState settle(TrexState state);

}  // namespace sysone::trex
