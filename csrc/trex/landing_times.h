// When answers land: learnt from the answers that have landed, in frames. The same rules as
// `sysone.trex.timing`, to the bit, and the same numbers.
#pragma once

#include <deque>
#include <optional>
#include <span>

#include "trex/planner.h"

namespace sysone::trex {

// Answers that the estimates are taken from; a faster regime is learnt within so many.
inline constexpr int kRecentAnswers = 16;
inline constexpr int kLongestLatency = 90;
inline constexpr int kLongestJitter = 12;
inline constexpr int kLongestStagger = 12;
inline constexpr int kLongestWait = 24;
inline constexpr int kGapsKept = 60;
inline constexpr int kGapsNeeded = 10;  // questions asked before their own rhythm is trusted

class LandingTimes {
  public:
    // `lockstep` is the number of frames played per decision while the game waits.
    LandingTimes(int inflight, std::optional<int> lockstep);

    // First estimates, from the times of a warm-up, of which there is at least one.
    void start_from(std::span<const double> samples_ms);
    // An answer landed, `latency` frames after its view. A slower regime is believed at once, a
    // faster one as the slow answers leave the window.
    void observe(int latency);
    // Two questions went out, so many frames apart.
    void asked_after(int frames);
    // A new run of the game: its rhythm starts anew, the estimates stay.
    void forget_run();

    // Frames between two questions when several may be in flight.
    int stagger() const;
    // What a question asked now is planned for.
    Timing timing() const;

  private:
    int longest_wait() const;

    int inflight_;
    std::optional<int> lockstep_;
    double latency_ = 1;
    double typical_ = 1;
    double jitter_ = 1;
    std::deque<int> recent_;
    std::deque<int> ask_gaps_;
};

}  // namespace sysone::trex
