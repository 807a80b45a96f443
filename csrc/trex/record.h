// A game's physics state as bytes, for checksums over whole runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trex/game.h"

namespace sysone::trex {

// Little-endian, packed: trex x and y (i32), velocity (f64), trex flags (u8: 1 jumping, 2 ducking,
// 4 speed drop, 8 reached), status (u8), speed, distance, running time (f64), score, number of
// obstacles (i32), game flags (u8: 1 playing, 2 crashed, 4 activated, 8 intro); then per obstacle
// x (i32), kind (u8), size, width, y (i32), speed offset (f64), gap (i32).
void append_record(const Game& game, std::vector<std::uint8_t>& bytes);

// FNV-1a, 64 bits.
class Checksum {
  public:
    void add(std::span<const std::uint8_t> bytes) {
        for (const std::uint8_t byte : bytes) value_ = (value_ ^ byte) * 0x100000001b3U;
    }
    std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace sysone::trex
