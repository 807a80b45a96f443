#include "trex/record.h"

#include <bit>
#include <type_traits>

namespace sysone::trex {
namespace {

template <typename T>
void append(std::vector<std::uint8_t>& bytes, T value) {
    using Bits =
        std::conditional_t<sizeof(T) == 8, std::uint64_t,
                           std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint8_t>>;
    const auto bits = std::bit_cast<Bits>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        bytes.push_back(static_cast<std::uint8_t>(bits >> (8 * i)));
    }
}

std::uint8_t flags(bool a, bool b, bool c, bool d) {
    return static_cast<std::uint8_t>(a | b << 1 | c << 2 | d << 3);
}

}  // namespace

void append_record(const Game& game, std::vector<std::uint8_t>& bytes) {
    const Dino& dino = game.dino();
    append(bytes, dino.x);
    append(bytes, dino.y);
    append(bytes, dino.velocity);
    append(bytes, flags(dino.jumping, dino.ducking, dino.speed_drop, dino.reached_min_height));
    append(bytes, static_cast<std::uint8_t>(dino.status()));
    append(bytes, game.speed());
    append(bytes, game.distance());
    append(bytes, game.running_time_ms());
    append(bytes, game.score());
    append(bytes, static_cast<std::int32_t>(game.obstacles().size()));
    append(bytes, flags(game.playing(), game.crashed(), game.activated(), game.playing_intro()));
    for (const Obstacle& obstacle : game.obstacles()) {
        append(bytes, obstacle.x);
        append(bytes, static_cast<std::uint8_t>(obstacle.kind));
        append(bytes, obstacle.size);
        append(bytes, obstacle.width);
        append(bytes, obstacle.y);
        append(bytes, obstacle.speed_offset);
        append(bytes, obstacle.gap);
    }
}

}  // namespace sysone::trex
