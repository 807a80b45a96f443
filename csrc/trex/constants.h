// The numbers of Chromium's dinosaur game (BSD-3-Clause, see NOTICE). Pixels, frames of 1000/60 ms,
// velocities in pixels per frame, y growing downwards.
#pragma once

namespace sysone::trex {

inline constexpr int kFps = 60;
inline constexpr double kFrameMs = 1000.0 / 60.0;
inline constexpr int kWidth = 600;
inline constexpr int kHeight = 150;

inline constexpr int kTrexWidth = 44;
inline constexpr int kTrexHeight = 47;
inline constexpr int kBottomPad = 10;
inline constexpr int kGroundY = kHeight - kTrexHeight - kBottomPad;
inline constexpr int kMinJumpY = kGroundY - 30;
inline constexpr int kMaxJumpHeight = 30;
inline constexpr int kStartX = 50;
inline constexpr double kIntroDurationMs = 1500;
inline constexpr double kIntroMs = 400;

inline constexpr double kGravity = 0.6;
inline constexpr double kInitialJumpVelocity = -10;
inline constexpr double kDropVelocity = -5;
inline constexpr double kSpeedDropCoefficient = 3;

inline constexpr double kStartSpeed = 6;
inline constexpr double kMaxSpeed = 13;
inline constexpr double kAcceleration = 0.001;

inline constexpr double kClearTimeMs = 3000;
inline constexpr double kGapCoefficient = 0.6;
inline constexpr double kMaxGapCoefficient = 1.5;
inline constexpr int kMaxObstacleLength = 3;
inline constexpr int kMaxObstacleDuplication = 2;
inline constexpr double kBirdSpeedOffset = 0.8;
inline constexpr double kBirdFrameMs = 1000.0 / 6.0;

inline constexpr double kDistanceCoefficient = 0.025;
inline constexpr int kAchievementDistance = 100;
inline constexpr double kFlashDurationMs = 250;
inline constexpr int kFlashIterations = 3;
inline constexpr int kMaxDistanceUnits = 5;
inline constexpr int kInvertDistance = 700;
inline constexpr double kInvertFadeDurationMs = 12000;
inline constexpr double kInvertTransitionMs = 1500;

inline constexpr double kRestartDelayMs = 1500;
inline constexpr double kRestartLogoPauseMs = 875;
inline constexpr int kRestartFrames = 8;

}  // namespace sysone::trex
