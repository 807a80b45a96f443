// Obstacles: their kinds, the specification a course draws, and one obstacle on the track.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trex/constants.h"
#include "trex/geometry.h"

namespace sysone::trex {

// In the order in which courses draw them.
enum class Kind : std::uint8_t { kCactusSmall, kCactusLarge, kPterodactyl };
inline constexpr int kKinds = 3;

std::string_view kind_name(Kind kind);

// What never changes about a kind.
struct KindInfo {
    std::string_view name;
    int width;
    int height;
    std::array<int, 3> heights;  // the y choices, in drawing order
    int height_choices;
    double multiple_speed;  // groups are allowed from this speed on
    int min_gap;
    double min_speed;
    bool bird;
    BoxList boxes;
};

const KindInfo& kind_info(Kind kind);

struct Spec {
    Kind kind = Kind::kCactusSmall;
    int size = 1;
    int y = 0;
    double gap = 0.5;  // 0 (shortest) to 1 (longest)
    bool faster = false;
    std::string source = "random";

    friend bool operator==(const Spec&, const Spec&) = default;
};

struct Obstacle {
    // An obstacle enters right of the canvas; its gap and group size depend on the current speed.
    Obstacle(const Spec& spec, double speed, int obstacle_id);

    int id;
    Kind kind;
    int x;
    int y;
    int size;
    int width;
    double speed_offset;
    int gap;
    BoxList boxes;
    bool following_created = false;
    bool removed = false;
    int frame = 0;
    double timer_ms = 0;

    int height() const { return kind_info(kind).height; }
    bool bird() const { return kind_info(kind).bird; }
    std::string label() const;

    // One frame; does nothing once removed.
    void update(double dt, double game_speed);
};

// Whole pixels an obstacle moves within dt. The order of operations is the reference's.
inline int obstacle_step(double speed, double offset, double dt = kFrameMs) {
    return static_cast<int>(std::floor(((speed + offset) * 60 / 1000) * dt));
}

// What stands on the track: an outer corner and boxes relative to it.
struct Target {
    int x;
    int y;
    int width;
    int height;
    const BoxList& boxes;
};

// The dinosaur's boxes, chosen by whether it ducks.
const BoxList& trex_boxes(bool ducking);

// The outer box of the dinosaur always has its standing size; only where the outer boxes overlap
// are the inner ones compared.
bool collides(int trex_x, int trex_y, bool ducking, const Target& target);

}  // namespace sysone::trex
