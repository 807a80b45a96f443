#include "trex/landing_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include "trex/constants.h"

namespace sysone::trex {
namespace {

void keep(std::deque<int>& values, int value, int most) {
    if (std::ssize(values) == most) values.pop_front();
    values.push_back(value);
}

}  // namespace

LandingTimes::LandingTimes(int inflight, std::optional<int> lockstep)
    : inflight_(inflight), lockstep_(lockstep) {}

void LandingTimes::start_from(std::span<const double> samples_ms) {
    std::vector<double> ordered(samples_ms.begin(), samples_ms.end());
    std::sort(ordered.begin(), ordered.end());
    latency_ = std::trunc(ordered.front() / kFrameMs);
    typical_ = ordered[ordered.size() / 2] / kFrameMs;
    jitter_ = std::max(1.0, ordered.back() / kFrameMs + 1 - latency_);
}

void LandingTimes::observe(int latency) {
    latency = std::clamp(latency, 0, kLongestLatency);
    if (latency > latency_ + std::max(4.0, 2 * jitter_)) recent_.clear();
    keep(recent_, latency, kRecentAnswers);
    std::array<int, kRecentAnswers> ordered{};
    const auto end = std::copy(recent_.begin(), recent_.end(), ordered.begin());
    std::sort(ordered.begin(), end);
    const std::size_t count = recent_.size();
    latency_ = ordered[count / 5];
    typical_ = ordered[count / 2];
    jitter_ = std::min<double>(kLongestJitter, std::max(1.0, ordered[count - 1] - latency_));
}

void LandingTimes::asked_after(int frames) { keep(ask_gaps_, frames, kGapsKept); }

void LandingTimes::forget_run() {
    recent_.clear();
    ask_gaps_.clear();
}

int LandingTimes::stagger() const {
    const double share = std::max(1.0, typical_) / std::min(inflight_, 4);
    // Python's round: halves go to the even neighbour, as in the default rounding mode.
    return std::clamp(static_cast<int>(std::nearbyint(share)), 1, kLongestStagger);
}

int LandingTimes::longest_wait() const {
    const int least = stagger();
    int usual = 2 * least;
    if (std::ssize(ask_gaps_) >= kGapsNeeded) {
        std::array<int, kGapsKept> ordered{};
        const auto end = std::copy(ask_gaps_.begin(), ask_gaps_.end(), ordered.begin());
        const auto place = ordered.begin() + static_cast<std::ptrdiff_t>(
                                                 0.95 * static_cast<double>(ask_gaps_.size() - 1));
        std::nth_element(ordered.begin(), place, end);
        usual = *place;
    }
    return std::min({kLongestWait, std::max(least, usual), 3 * least + 2});
}

Timing LandingTimes::timing() const {
    if (lockstep_) {
        const double between = *lockstep_;
        return {{0, 0}, {between, between}, std::nullopt};
    }
    const std::array<double, 2> landing = {latency_, latency_ + jitter_};
    std::optional<double> period;
    if (inflight_ > 1) period = longest_wait();
    return {landing, landing, period};
}

}  // namespace sysone::trex
