#include "trex/obstacle.h"

#include <algorithm>

namespace sysone::trex {
namespace {

constexpr std::array<KindInfo, kKinds> kKindTable = {{
    {"cactusSmall",
     17,
     35,
     {105, 0, 0},
     1,
     4,
     120,
     0,
     false,
     {{0, 7, 5, 27}, {4, 0, 6, 34}, {10, 4, 7, 14}}},
    {"cactusLarge",
     25,
     50,
     {90, 0, 0},
     1,
     7,
     120,
     0,
     false,
     {{0, 12, 7, 38}, {8, 0, 7, 49}, {13, 10, 10, 38}}},
    {"pterodactyl",
     46,
     40,
     {100, 75, 50},
     3,
     999,
     150,
     8.5,
     true,
     {{15, 15, 16, 5}, {18, 21, 24, 6}, {2, 14, 4, 3}, {6, 10, 4, 7}, {10, 8, 6, 9}}},
}};

constexpr BoxList kStandingBoxes = {{22, 0, 17, 16}, {1, 18, 30, 9}, {10, 35, 14, 8},
                                    {1, 24, 29, 5},  {5, 30, 21, 4}, {9, 34, 15, 4}};
constexpr BoxList kDuckingBoxes = {{1, 18, 55, 25}};

}  // namespace

const KindInfo& kind_info(Kind kind) { return kKindTable[static_cast<std::size_t>(kind)]; }

std::string_view kind_name(Kind kind) { return kind_info(kind).name; }

Obstacle::Obstacle(const Spec& spec, double speed, int obstacle_id)
    : id(obstacle_id),
      kind(spec.kind),
      x(kWidth + kind_info(spec.kind).width),
      y(kind_info(spec.kind).heights[0]),
      size(spec.size),
      width(0),
      speed_offset(0),
      gap(0),
      boxes(kind_info(spec.kind).boxes) {
    const KindInfo& info = kind_info(kind);
    if (size > 1 && info.multiple_speed > speed) size = 1;
    width = info.width * size;
    for (int i = 0; i < info.height_choices; ++i) {
        if (info.heights[static_cast<std::size_t>(i)] == spec.y) y = spec.y;
    }
    // a group stretches the middle box and moves the right one to the end
    if (size > 1) {
        boxes[1].width = width - boxes[0].width - boxes[2].width;
        boxes[2].x = width - boxes[2].width;
    }
    if (info.bird) speed_offset = spec.faster ? kBirdSpeedOffset : -kBirdSpeedOffset;

    const int min_gap = js_round(width * speed + info.min_gap * kGapCoefficient);
    const int span = js_round(min_gap * kMaxGapCoefficient) - min_gap;
    gap = min_gap + std::min(static_cast<int>(std::floor(spec.gap * (span + 1))), span);
}

std::string Obstacle::label() const {
    if (bird()) {
        if (y == 100) return "low bird";
        return y == 75 ? "bird at head height" : "high bird";
    }
    const bool small = kind == Kind::kCactusSmall;
    if (size == 1) return small ? "small cactus" : "large cactus";
    return std::to_string(size) + (small ? " small cacti" : " large cacti");
}

void Obstacle::update(double dt, double game_speed) {
    if (removed) return;
    x -= obstacle_step(game_speed, speed_offset, dt);
    if (bird()) {
        timer_ms += dt;
        if (timer_ms >= kBirdFrameMs) {
            frame = 1 - frame;
            timer_ms = 0;
        }
    }
    if (x + width <= 0) removed = true;
}

const BoxList& trex_boxes(bool ducking) { return ducking ? kDuckingBoxes : kStandingBoxes; }

bool collides(int trex_x, int trex_y, bool ducking, const Target& target) {
    const Box trex_outer = {trex_x + 1, trex_y + 1, kTrexWidth - 2, kTrexHeight - 2};
    const Box outer = {target.x + 1, target.y + 1, target.width - 2, target.height - 2};
    if (!overlap(trex_outer, outer)) return false;
    for (const Box& mine : trex_boxes(ducking)) {
        for (const Box& theirs : target.boxes) {
            if (overlap(shifted(mine, trex_outer.x, trex_outer.y),
                        shifted(theirs, outer.x, outer.y))) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace sysone::trex
