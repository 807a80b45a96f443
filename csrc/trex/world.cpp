#include "trex/world.h"

#include <algorithm>

namespace sysone::trex {
namespace {

// Sets the bits above `low` and below `high`, both exclusive and clipped to the row.
void set_between(std::array<std::uint64_t, 2>& row, int low, int high) {
    const int first = std::max(low + 1, 0);
    const int end = std::min(high, 128);
    for (int word = 0; word < 2; ++word) {
        const int from = std::max(first - 64 * word, 0);
        const int to = std::min(end - 64 * word, 64);
        if (from >= to) continue;
        const std::uint64_t ones = ~std::uint64_t{0} >> (64 - (to - from));
        row[static_cast<std::size_t>(word)] |= ones << from;
    }
}

}  // namespace

World::World(const Snapshot& snap, int horizon) : snap_(&snap), horizon_(horizon) {
    const auto frames = static_cast<std::size_t>(std::max(horizon, 0)) + 1;
    speeds_.assign(std::max(frames, std::size_t{2}), snap.speed);
    fronts_.assign(frames, {-1, 0});
    row_of_.assign(frames, 0);
    rows_.emplace_back();
    passed_.assign(snap.obstacles.size(), 0);
    look_ahead();
}

void World::look_ahead() {
    const std::vector<ObstacleView>& obstacles = snap_->obstacles;
    std::vector<int> x;
    for (const ObstacleView& obstacle : obstacles) {
        x.push_back(obstacle.x);
        birds_ = birds_ || obstacle.bird;
    }
    std::vector<bool> gone(obstacles.size(), false);

    double speed = snap_->speed;
    std::size_t front = 0;
    for (int k = 1; k <= horizon_; ++k) {
        const auto frame = static_cast<std::size_t>(k);
        speeds_[frame] = speed;
        for (std::size_t i = front; i < obstacles.size(); ++i) {
            if (gone[i]) continue;
            x[i] -= obstacle_step(speed, obstacles[i].offset);
            const int right = x[i] + obstacles[i].width;
            if (passed_[i] == 0 && right <= snap_->trex_x + 1) passed_[i] = k;
            gone[i] = right <= 0;
        }
        while (front < obstacles.size() && gone[front]) ++front;
        if (front < obstacles.size()) {
            fronts_[frame] = {static_cast<int>(front), x[front]};
            if (level_with_trex(obstacles[front], x[front])) {
                row_of_[frame] = static_cast<std::uint16_t>(rows_.size());
                rows_.push_back(forbidden_heights(obstacles[front], x[front]));
            }
        }
        if (speed < kMaxSpeed) speed += kAcceleration;
    }
}

bool World::level_with_trex(const ObstacleView& obstacle, int x) const {
    const int trex_left = snap_->trex_x + 1;
    return trex_left < x + 1 + obstacle.width - 2 && trex_left + kTrexWidth - 2 > x + 1;
}

World::Row World::forbidden_heights(const ObstacleView& obstacle, int x) const {
    const int trex_left = snap_->trex_x + 1;
    const int left = x + 1;
    const int top = obstacle.y + 1;
    // the heights at which the outer boxes overlap
    const int outer_low = top - (kTrexHeight - 2) - 1;
    const int outer_high = top + obstacle.height - 2 - 1;

    Row row{};
    for (const bool ducking : {false, true}) {
        for (const Box& mine : trex_boxes(ducking)) {
            for (const Box& theirs : obstacle.boxes) {
                const int gap = left + theirs.x - (trex_left + mine.x);
                if (gap >= mine.width || -gap >= theirs.width) continue;
                const int low = top + theirs.y - mine.y - mine.height - 1;
                const int high = top + theirs.y + theirs.height - mine.y - 1;
                set_between(row[ducking], std::max(low, outer_low), std::min(high, outer_high));
            }
        }
    }
    return row;
}

bool World::hit_outside(int k, int y, bool ducking) const {
    const Front at = front(k);
    const ObstacleView& obstacle = snap_->obstacles[static_cast<std::size_t>(at.obstacle)];
    return collides(snap_->trex_x, y, ducking, obstacle.at(at.x));
}

}  // namespace sysone::trex
