// The planner: which keys are proven safe when a late answer lands, and which one is best.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trex/motion.h"
#include "trex/search.h"
#include "trex/snapshot.h"

namespace sysone::trex {

// A manoeuvre counts as near when it is due within the landing window and this many frames.
inline constexpr int kDuckLeadFrames = 14;
// Timings beyond ten seconds are a mistake, not a latency; the search recurses about once a frame,
// and this bounds its stack.
inline constexpr double kMaxTimingFrames = 600;

template <typename T>
using PerAction = std::array<T, kActions>;

constexpr std::size_t index(Action action) { return static_cast<std::size_t>(action); }

// When the answer lands, in frames, not yet rounded.
struct Timing {
    std::array<double, 2> first;   // from the snapshot to the landing, earliest and latest
    std::array<double, 2> gap;     // from one landing to the next
    std::optional<double> period;  // longest wait between questions; none: one request in flight
};

struct Plan {
    PerAction<bool> safe{};
    Action best = Action::kRun;
    bool airborne = false;  // when the answer lands
    std::optional<std::string> threat;
    std::optional<std::string> ahead;
    std::optional<int> distance_px;
    std::optional<double> eta_ms;
    PerAction<std::string> notes;
    std::size_t states = 0;
    bool robust = true;
    std::optional<std::int64_t> threat_id;
    std::optional<std::int64_t> ahead_id;

    bool any_safe() const { return safe[0] || safe[1] || safe[2]; }

    friend bool operator==(const Plan&, const Plan&) = default;
};

class Planner {
  public:
    static constexpr int kDefaultMaxHorizon = 150;

    explicit Planner(int max_horizon = kDefaultMaxHorizon) : max_horizon_(max_horizon) {}

    int max_horizon() const { return max_horizon_; }
    // Frames until everything in the snapshot is passed, with a margin.
    int horizon(const Snapshot& snap) const;
    // Throws std::invalid_argument for a timing that is not finite or beyond kMaxTimingFrames.
    Plan plan(const Snapshot& snap, const Timing& timing) const;

  private:
    int max_horizon_;
};

}  // namespace sysone::trex
