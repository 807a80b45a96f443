#include "trex/motion.h"

namespace sysone::trex {
namespace {

constexpr double ms_per_frame(Pose pose) {
    if (pose == Pose::kJump) return kJumpingFrameMs;
    return pose == Pose::kDuck ? kDuckingFrameMs : kRunningFrameMs;
}

}  // namespace

TrexState enforce(TrexState state, Held held) {
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

TrexState impulse_jump(const TrexState& state, double speed) {
    if (state.jumping) return state;
    return {kInitialJumpVelocity - speed / 10, state.y, true, false, false, false, Pose::kJump};
}

TrexState fall(TrexState state) {
    if (!state.jumping) return state;
    const JumpStep step =
        jump_step(state.y, state.velocity, state.speed_drop, ms_per_frame(state.pose));
    state.y = step.y;
    state.velocity = step.velocity;
    state.reached = state.reached || step.reached;
    if (step.ended && state.reached && state.velocity < kDropVelocity) {
        state.velocity = kDropVelocity;
    }
    if (state.y > kGroundY) return state.speed_drop ? kDropLanding : kOnGround;
    return state;
}

TrexState settle(TrexState state) {
    // the frame that touches the ground line without passing it
    if (state.speed_drop && state.y == kGroundY) {
        state.speed_drop = false;
        state.ducking = state.pose != Pose::kDuck;
        state.pose = state.ducking ? Pose::kDuck : Pose::kRun;
    }
    return state;
}

}  // namespace sysone::trex
