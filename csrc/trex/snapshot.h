// One moment of a game, as much of it as planner and shield may know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trex/game.h"
#include "trex/motion.h"

namespace sysone::trex {

struct ObstacleView {
    std::int64_t id;
    std::string label;
    bool bird;
    int x;
    int y;
    int width;
    int height;
    double offset;
    BoxList boxes;

    Target at(int position) const { return {position, y, width, height, boxes}; }

    friend bool operator==(const ObstacleView&, const ObstacleView&) = default;
};

struct Snapshot {
    TrexState trex;
    int trex_x;
    double speed;
    std::vector<ObstacleView> obstacles;
    Held held = Held::kRun;
    bool playing = true;
    std::optional<Action> pending;  // an answer that will act before the next one

    friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

// Holds the obstacles that have entered the canvas (x < 600) and have not left it, in list order.
Snapshot snapshot(const Game& game, Held held, std::optional<Action> pending = std::nullopt);

}  // namespace sysone::trex
