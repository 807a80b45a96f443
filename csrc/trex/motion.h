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

// Frames of a jump's time base that pass in one frame of the game.
constexpr double frames_of(Pose pose) {
    if (pose == Pose::kJump) return kFrameMs / kJumpingFrameMs;
    return kFrameMs / (pose == Pose::kDuck ? kDuckingFrameMs : kRunningFrameMs);
}

// The held key's effect.
inline TrexState enforce(TrexState state, Held held) {
    if (held == Held::kDuck) {
        if (state.jumping) {
            if (!state.speed_drop) {
                state.speed_drop = true;
                state.velocity = 1;
            }
        } else if (!state.ducking) {
            state.ducking = true;
            state.pose = Pose::kDuck;
        }
    } else if (state.speed_drop || (!state.jumping && state.ducking)) {
        // a drop released in the air keeps its velocity and its jumping pose
        state.speed_drop = false;
        state.ducking = false;
        if (state.pose == Pose::kDuck) state.pose = Pose::kRun;
    }
    return state;
}

// A tap of the jump key.
inline TrexState impulse_jump(const TrexState& state, double speed) {
    if (state.jumping) return state;
    return {kInitialJumpVelocity - speed / 10, state.y, true, false, false, false, Pose::kJump};
}

// One frame of a jump; a landing ends it.
inline TrexState fall(TrexState state) {
    if (!state.jumping) return state;
    const JumpStep step =
        jump_frames(state.y, state.velocity, state.speed_drop, frames_of(state.pose));
    state.y = step.y;
    state.velocity = step.velocity;
    state.reached = state.reached || step.reached;
    if (step.ended && state.reached && state.velocity < kDropVelocity) {
        state.velocity = kDropVelocity;
    }
    if (state.y > kGroundY) return state.speed_drop ? kDropLanding : kOnGround;
    return state;
}

// What the frame that touches the ground line without passing it does to a drop.
inline TrexState settle(TrexState state) {
    if (state.speed_drop && state.y == kGroundY) {
        state.speed_drop = false;
        state.ducking = state.pose != Pose::kDuck;
        state.pose = state.ducking ? Pose::kDuck : Pose::kRun;
    }
    return state;
}

}  // namespace sysone::trex
