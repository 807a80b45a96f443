// Where obstacles come from: a pure function of seed, run, index, speed and the last two kinds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/python_random.h"
#include "trex/obstacle.h"

namespace sysone::trex {

// The kinds of the last obstacles, most recent first.
class History {
  public:
    void push(Kind kind);
    void clear() { size_ = 0; }
    std::size_t size() const { return size_; }
    Kind operator[](std::size_t i) const { return kinds_[i]; }
    // True when the last two were both of this kind.
    bool too_many(Kind kind) const;

  private:
    std::array<Kind, kMaxObstacleDuplication> kinds_{};
    std::size_t size_ = 0;
};

enum class CourseStyle : std::uint8_t { kOriginal, kStaged };

// A stretch of the staged course.
struct Phase {
    std::string_view name;
    std::string_view hint;
    double gap_floor;
};

const Phase& phase_at(int obstacle_index, double speed);

// Where one draw is made.
struct Place {
    int run_index;
    int index;
    double speed;
    const History& history;
};

// The streams of a run's next obstacles, prepared a few at a time.
class CourseStreams {
  public:
    PythonRandomPrefix stream(std::int64_t seed, int run_index, int index);

  private:
    std::array<PythonRandomPrefix, PythonRandomPrefix::kLanes> streams_;
    std::int64_t seed_ = 0;
    int run_index_ = -1;
    int first_ = 0;
};

struct Course {
    CourseStyle style = CourseStyle::kOriginal;
    std::int64_t seed = 0;

    Spec spec(const Place& place, CourseStreams& streams, std::string_view source = "random") const;
    // The original style's draws, also for a staged course (the rule check falls back to them).
    Spec original_spec(const Place& place, CourseStreams& streams, std::string_view source) const;
};

}  // namespace sysone::trex
