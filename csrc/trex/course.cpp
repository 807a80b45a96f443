#include "trex/course.h"

#include <algorithm>
#include <utility>

namespace sysone::trex {
namespace {

constexpr Phase kWarmUp = {"Warm-up", "Easy jumps, room to recover", 0.85};
constexpr Phase kSprint = {"Sprint", "Build a clean survival streak", 0.55};
constexpr Phase kBirdAttack = {"Bird attack", "Watch the height: jump or duck", 0.45};
constexpr Phase kFinal = {"Final challenge", "Mixed obstacles, tighter timing", 0.25};

constexpr std::array<int, 3> kBirdAttackHeights = {75, 50, 100};

}  // namespace

void History::push(Kind kind) {
    kinds_[1] = kinds_[0];
    kinds_[0] = kind;
    size_ = std::min(size_ + 1, kinds_.size());
}

bool History::too_many(Kind kind) const {
    int in_a_row = 0;
    for (std::size_t i = 0; i < size_; ++i) in_a_row = kinds_[i] == kind ? in_a_row + 1 : 0;
    return in_a_row >= kMaxObstacleDuplication;
}

const Phase& phase_at(int obstacle_index, double speed) {
    if (obstacle_index < 3 || speed < 7) return kWarmUp;
    if (speed < 8.5) return kSprint;
    return speed < 9.1 ? kBirdAttack : kFinal;
}

PythonRandomPrefix CourseStreams::stream(std::int64_t seed, int run_index, int index) {
    constexpr int kLanes = static_cast<int>(PythonRandomPrefix::kLanes);
    const bool prepared =
        seed == seed_ && run_index == run_index_ && index >= first_ && index < first_ + kLanes;
    if (!prepared) {
        const std::string run = "course-" + std::to_string(seed) + "-" + std::to_string(run_index);
        std::array<std::string, PythonRandomPrefix::kLanes> texts;
        for (int lane = 0; lane < kLanes; ++lane) {
            texts[static_cast<std::size_t>(lane)] = run + "-" + std::to_string(index + lane);
        }
        streams_ = PythonRandomPrefix::prepare(std::move(texts));
        seed_ = seed;
        run_index_ = run_index;
        first_ = index;
    }
    return streams_[static_cast<std::size_t>(index - first_)];
}

Spec Course::original_spec(const Place& place, CourseStreams& streams,
                           std::string_view source) const {
    PythonRandomPrefix random = streams.stream(seed, place.run_index, place.index);
    // the draw order is the contract: rejected kinds cost a draw, birds alone draw a height
    Kind kind;
    do {
        kind = static_cast<Kind>(random.random_int(0, kKinds - 1));
    } while (place.history.too_many(kind) || place.speed < kind_info(kind).min_speed);
    const KindInfo& info = kind_info(kind);

    Spec spec;
    spec.kind = kind;
    spec.size = random.random_int(1, kMaxObstacleLength);
    const int choice = info.height_choices > 1 ? random.random_int(0, info.height_choices - 1) : 0;
    spec.y = info.heights[static_cast<std::size_t>(choice)];
    spec.gap = random.random();
    spec.faster = random.random() > 0.5;
    spec.source = source;
    return spec;
}

Spec Course::spec(const Place& place, CourseStreams& streams, std::string_view source) const {
    Spec spec = original_spec(place, streams, source);
    if (style == CourseStyle::kOriginal) return spec;

    const Phase& phase = phase_at(place.index, place.speed);
    if (&phase == &kBirdAttack && !place.history.too_many(Kind::kPterodactyl)) {
        spec.kind = Kind::kPterodactyl;
        spec.size = 1;
        spec.y =
            kBirdAttackHeights[static_cast<std::size_t>(place.index) % kBirdAttackHeights.size()];
    }
    if (&phase == &kWarmUp) spec.size = 1;
    spec.gap = std::max(spec.gap, phase.gap_floor);
    return spec;
}

}  // namespace sysone::trex
