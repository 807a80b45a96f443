// A match on a simulated clock: questions go out while the game runs on, and answers land late.
//
//   answers that have come ──▶ delivered, and the next question may go out
//                 a tick   ──▶ answers land: current? premise still true? shield, keys
//                              emergency shield, keys, one frame of the game
//                              the new moment is published, and the next question may go out
//
// These are the rules of `sysone.trex` (pilot, arena, virtual), for players without a model; every
// count equals theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trex/game.h"
#include "trex/policy.h"

namespace sysone::trex {

// How much is remembered: answers that a question may reckon with, questions that were dropped,
// answers that were taken.
inline constexpr int kFinishedKept = 16;
inline constexpr int kDroppedKept = 32;
inline constexpr int kAcceptedKept = 64;

struct MatchOptions {
    CourseStyle style = CourseStyle::kOriginal;
    Policy policy = Policy::kPlannerBest;
    int frames = 3600;            // of the match, in lockstep of the game
    int inflight = 1;             // requests at a time
    bool guarded = true;          // all three shields
    std::optional<int> lockstep;  // frames played per decision while the game waits
    // Whether a question leaves out a premise that is sure to be void when its answer lands.
    bool checked_premise = false;
};

struct MatchCounts {
    int decisions = 0;  // answers applied
    int agreed = 0;     // of those: the planner's best
    int best_effort = 0;
    int discarded = 0;
    int shield_interventions = 0;
    int arrival_saves = 0;
    int emergency_saves = 0;
};

struct MatchResult {
    Game game;
    int frames = 0;  // of the match
    MatchCounts counts;
    std::vector<int> finished_scores;
};

// Plays one seed. `latencies_ms` are those of the questions in their order, `warm_ms` what a
// warm-up measured (at least one). Random policies draw from CPython's stream
// "random_safe-{seed}" or "random-{seed}". Throws std::invalid_argument when the latencies do not
// suffice: 2 * frames + 4 always do.
MatchResult play_match(std::int64_t seed, const MatchOptions& options,
                       std::span<const double> latencies_ms, std::span<const double> warm_ms);

}  // namespace sysone::trex
