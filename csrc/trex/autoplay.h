// Whole games played by a built-in policy, many at a time, for training data and baselines.
//
// A decision is made every few frames and acts at once: the game waits for it, as in lockstep. In
// between, keys are held and, with the shield on, the shield watches every frame.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trex/planner.h"
#include "trex/policy.h"

namespace sysone::trex {

struct AutoplayOptions {
    CourseStyle style = CourseStyle::kOriginal;
    Policy policy = Policy::kPlannerBest;
    int frames = 3600;
    int frames_per_decision = 6;
    bool shield = true;
    bool plans = false;  // keep the plans, to be put into words
};

// The obstacles of a decision that are kept: the first ones on screen.
inline constexpr std::size_t kKeptObstacles = 3;

struct KeptObstacle {
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 0;
    double speed_offset = 0;
    int kind = 0;  // 0 none, 1 cactus, 2 bird
};

// What was known and done at one decision, without its words.
struct AutoplayDecision {
    int frame;
    int run;
    double speed;
    int trex_x;
    TrexState trex;
    std::array<KeptObstacle, kKeptObstacles> obstacles;
    PerAction<bool> safe;
    bool robust;
    bool airborne;
    std::optional<int> distance_px;
    std::optional<double> eta_ms;
    Action best;
    Action action;    // the policy's choice
    Action executed;  // what the shield made of it
};

struct AutoplayGame {
    std::int64_t seed = 0;
    int deaths = 0;
    int best_score = 0;  // points, of the best run
    int shield_interventions = 0;
    std::vector<AutoplayDecision> decisions;
    std::vector<Plan> plans;  // one a decision if they are kept
};

// Plays one game; random policies draw from the stream "autoplay-{seed}".
AutoplayGame autoplay(std::int64_t seed, const AutoplayOptions& options);

// Plays a game for each seed on `threads` threads (at least 1); the result does not depend on how
// many. Rethrows the first error of a thread.
std::vector<AutoplayGame> autoplay_all(std::span<const std::int64_t> seeds,
                                       const AutoplayOptions& options, int threads);

}  // namespace sysone::trex
