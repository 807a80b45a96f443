#include "trex/dino.h"

#include <array>

namespace sysone::trex {
namespace {

struct Animation {
    std::string_view name;
    std::array<int, 2> sprites;
    int frames;
    double ms_per_frame;
};

constexpr std::array<Animation, 5> kAnimations = {{
    {"waiting", {44, 0}, 2, kWaitingFrameMs},
    {"running", {88, 132}, 2, kRunningFrameMs},
    {"jumping", {0, 0}, 1, kJumpingFrameMs},
    {"ducking", {264, 323}, 2, kDuckingFrameMs},
    {"crashed", {220, 220}, 1, kCrashedFrameMs},
}};

const Animation& animation(Status status) { return kAnimations[static_cast<std::size_t>(status)]; }

}  // namespace

std::string_view status_name(Status status) { return animation(status).name; }

bool Dino::update(double dt) {
    clock_ms_ += dt;
    timer_ms_ += dt;
    return advance(dt);
}

void Dino::update(double dt, Status status) {
    clock_ms_ += dt;
    timer_ms_ += dt;
    status_ = status;
    frame_ = 0;
    advance(dt);
}

bool Dino::advance(double dt) {
    if (playing_intro && x < kStartX) {
        x += js_round(kStartX / kIntroDurationMs * dt);
        x_initial = x;
    }

    bool blinked = false;
    const Animation& current = animation(status_);
    if (status_ != Status::kWaiting) {
        sprite_ = current.sprites[static_cast<std::size_t>(frame_)];
    } else if (clock_ms_ - animation_start_ms_ >= blink_delay_ms_) {
        sprite_ = current.sprites[static_cast<std::size_t>(frame_)];
        if (frame_ == 1) {
            animation_start_ms_ = clock_ms_;
            ++blink_count;
            blinked = true;
        }
    }
    if (timer_ms_ >= current.ms_per_frame) {
        frame_ = (frame_ + 1) % current.frames;
        timer_ms_ = 0;
    }

    if (speed_drop && y == kGroundY) {
        speed_drop = false;
        set_duck(true);
    }
    return blinked;
}

void Dino::start_jump(double game_speed) {
    if (jumping) return;
    update(0, Status::kJumping);
    velocity = kInitialJumpVelocity - game_speed / 10;
    jumping = true;
    reached_min_height = false;
    speed_drop = false;
}

void Dino::end_jump() {
    if (reached_min_height && velocity < kDropVelocity) velocity = kDropVelocity;
}

void Dino::update_jump(double dt) {
    const JumpStep step = jump_step(y, velocity, speed_drop, animation(status_).ms_per_frame, dt);
    y = step.y;
    velocity = step.velocity;
    if (step.reached) reached_min_height = true;
    if (step.ended) end_jump();
    if (y > kGroundY) {
        reset();
        ++jump_count;
    }
}

void Dino::set_speed_drop() {
    speed_drop = true;
    velocity = 1;
}

void Dino::set_duck(bool on) {
    if (on && status_ != Status::kDucking) {
        update(0, Status::kDucking);
        ducking = true;
    } else if (status_ == Status::kDucking) {
        // also when `on`: a dinosaur told to duck while it ducks stands up
        update(0, Status::kRunning);
        ducking = false;
    }
}

void Dino::reset() {
    x = x_initial;
    y = kGroundY;
    velocity = 0;
    jumping = false;
    ducking = false;
    // speed_drop is still set here, so a landing from a drop becomes a duck
    update(0, Status::kRunning);
    speed_drop = false;
    jump_count = 0;
}

}  // namespace sysone::trex
