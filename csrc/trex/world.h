// Where every obstacle will be, and which heights of the dinosaur it forbids.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "trex/snapshot.h"

namespace sysone::trex {

// Look-ahead tables for the frames 1 to `horizon` after a snapshot. It refers to the snapshot,
// which must outlive it.
//
// For each frame on which the front obstacle is level with the dinosaur there is one row of bits:
// bit y is set where a dinosaur at height y would hit. Other frames share the empty row 0.
class World {
  public:
    World(const Snapshot& snap, int horizon);

    int horizon() const { return horizon_; }
    // Any bird in the snapshot, also one already passed.
    bool birds() const { return birds_; }
    // Pixels per frame while frame k is played; k from 1 to the horizon.
    double speed(int k) const { return speeds_[static_cast<std::size_t>(k)]; }
    // The speed that a jump pressed before frame k takes: beyond the table it is the first one.
    double press_speed(int k) const { return k <= horizon_ ? speed(k) : speed(1); }

    struct Front {
        int obstacle;  // index in the snapshot, -1 for none
        int x;
    };
    Front front(int k) const { return fronts_[static_cast<std::size_t>(k)]; }

    // The first frame at which an obstacle of the snapshot is behind the dinosaur, 0 if none is.
    int passed(std::size_t obstacle) const { return passed_[obstacle]; }

    // Does a dinosaur at height y hit the front obstacle at frame k? Never beyond the horizon.
    bool hit(int k, int y, bool ducking) const {
        if (k > horizon_) return false;
        const std::uint16_t row = row_of_[static_cast<std::size_t>(k)];
        if (row == 0) return false;
        const auto height = static_cast<unsigned>(y);
        if (height >= kRowBits) return hit_outside(k, y, ducking);
        return ((rows_[row][ducking][height / 64] >> (height % 64)) & 1U) != 0;
    }

    const Snapshot& snap() const { return *snap_; }

  private:
    static constexpr unsigned kRowBits = 128;
    using Row = std::array<std::array<std::uint64_t, kRowBits / 64>, 2>;

    void look_ahead();
    bool level_with_trex(const ObstacleView& obstacle, int x) const;
    Row forbidden_heights(const ObstacleView& obstacle, int x) const;
    bool hit_outside(int k, int y, bool ducking) const;

    const Snapshot* snap_;
    int horizon_;
    bool birds_ = false;
    std::vector<double> speeds_;
    std::vector<Front> fronts_;
    std::vector<int> passed_;
    std::vector<std::uint16_t> row_of_;
    std::vector<Row> rows_;
};

}  // namespace sysone::trex
