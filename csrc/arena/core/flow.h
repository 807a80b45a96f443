// Distances to a goal over the cells that a model may walk, for path planning in strategies.
#pragma once

#include <cstdint>
#include <vector>

#include "arena/core/rules.h"

namespace sysone::arena {

inline constexpr std::uint16_t kUnreachable = 0xFFFF;

// For each cell the cost of the way from it to the goal's cell, 5 for a cell's side and 7 for its
// diagonal. Steps are those that the model takes at any speed; the fly ramp is left out.
std::vector<std::uint16_t> flow_field(const Rules& rules, const Model& model, Word x_um, Word y_um);

}  // namespace sysone::arena
