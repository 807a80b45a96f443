// The dinosaur: jump physics, ducking, and the inherited quirks of its status changes.
#pragma once

#include <cstdint>
#include <string_view>

#include "trex/constants.h"
#include "trex/geometry.h"

namespace sysone::trex {

enum class Status : std::uint8_t { kWaiting, kRunning, kJumping, kDucking, kCrashed };

std::string_view status_name(Status status);

// Animation time per frame. It is physics too: a jump's time base is that of the status, so a
// dinosaur in the air with the ducking or running animation falls in slow motion.
inline constexpr double kWaitingFrameMs = 1000.0 / 3;
inline constexpr double kRunningFrameMs = 1000.0 / 12;
inline constexpr double kJumpingFrameMs = 1000.0 / 60;
inline constexpr double kDuckingFrameMs = 1000.0 / 8;
inline constexpr double kCrashedFrameMs = 1000.0 / 60;

struct JumpStep {
    int y;
    double velocity;
    bool reached;  // high enough for the jump to end early
    bool ended;
};

// `frames` is the time that passes, in frames of the status's time base.
inline JumpStep jump_frames(int y, double velocity, bool speed_drop, double frames) {
    y += speed_drop ? js_round(velocity * kSpeedDropCoefficient * frames)
                    : js_round(velocity * frames);
    velocity += kGravity * frames;
    return {y, velocity, y < kMinJumpY || speed_drop, y < kMaxJumpHeight || speed_drop};
}

inline JumpStep jump_step(int y, double velocity, bool speed_drop, double ms_per_frame,
                          double dt = kFrameMs) {
    return jump_frames(y, velocity, speed_drop, dt / ms_per_frame);
}

class Dino {
  public:
    // Advances clock and animation by dt ms. True when a blink of the waiting dinosaur has ended
    // and set_blink_delay is due.
    bool update(double dt);
    void update(double dt, Status status);
    void set_blink_delay(double delay_ms) { blink_delay_ms_ = delay_ms; }
    void start_jump(double game_speed);
    void update_jump(double dt);
    void set_speed_drop();
    void set_duck(bool on);
    void reset();

    int x = 0;
    int x_initial = 0;
    int y = kGroundY;
    double velocity = 0;
    bool jumping = false;
    bool ducking = false;
    bool speed_drop = false;
    bool reached_min_height = false;
    bool playing_intro = false;
    int jump_count = 0;
    int blink_count = 0;

    Status status() const { return status_; }
    double blink_delay_ms() const { return blink_delay_ms_; }
    int sprite() const { return sprite_; }
    int animation_frame() const { return frame_; }
    double timer_ms() const { return timer_ms_; }

  private:
    bool advance(double dt);
    void end_jump();

    Status status_ = Status::kWaiting;
    int frame_ = 0;
    int sprite_ = 0;
    double timer_ms_ = 0;
    double clock_ms_ = 0;
    double animation_start_ms_ = 0;
    double blink_delay_ms_ = 0;
};

}  // namespace sysone::trex
