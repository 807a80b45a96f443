// The places of plans, as sysone.arena.sdk.tactics has them: for red, turned round for blue.
#pragma once

#include <array>

#include "arena/core/sim.h"
#include "arena/fast/navigator.h"

namespace sysone::arena {

inline constexpr Metres kSupplyPlace{2.2, 2.0};
inline constexpr Metres kGuardPlace{6.2, 6.0};
inline constexpr Metres kAttackOutpost{13.2, 10.4};
inline constexpr Metres kAttackBase{19.9, 7.5};
inline constexpr std::array<Metres, kSlots> kSpread = {{{0, 0},
                                                        {0.0, 0.0},
                                                        {-0.9, 0.9},
                                                        {0.0, 1.0},
                                                        {0.0, -1.0},
                                                        {-1.0, 0.0},
                                                        {-1.0, -1.0},
                                                        {-1.0, 0.5}}};

// Where the last columns of a robot lead to, and `go` goes: from 1 on.
inline constexpr std::array<Metres, 4> kGoals = {kAttackOutpost, kAttackBase, kSupplyPlace,
                                                 kGuardPlace};

// A place for a team's own side, spread by slot (0: as it is).
inline Metres place(const Field& field, Metres at, int team, int slot = 0) {
    const Metres spread = kSpread[static_cast<std::size_t>(slot)];
    const double x = at.x + spread.x, y = at.y + spread.y;
    if (team == 0) return {x, y};
    return {field.width_um() / 1e6 - x, field.height_um() / 1e6 - y};
}

// Where a robot is, in whole millimetres, as observations say it.
inline Metres position(const RobotState& r) { return {r.x / 1000 / 1000.0, r.y / 1000 / 1000.0}; }

}  // namespace sysone::arena
