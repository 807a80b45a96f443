// What holds after every decision of a match, whatever was ordered.
#pragma once

#include <stdexcept>
#include <string>

#include "arena/core/sim.h"

namespace sysone::arena {

// Throws std::runtime_error that names what is broken.
inline void check_invariants(const Sim& sim) {
    const auto need = [](bool holds, const char* what, const RobotState& r) {
        if (holds) return;
        throw std::runtime_error(std::string("broken: ") + what + " of team " +
                                 std::to_string(r.team) + " slot " + std::to_string(r.slot));
    };
    const State& state = sim.state();
    const Field& field = sim.rules().field();
    for (const RobotState& r : state.robots) {
        const Model& model = *sim.rules().model(r.model);
        need(r.hp >= 0 && r.hp <= r.max_hp, "0 <= hp <= max", r);
        need(r.heat >= 0, "heat >= 0", r);
        need(r.ammo_17 >= 0 && r.ammo_42 >= 0 && r.reserve >= 0, "allowance >= 0", r);
        need(r.energy >= 0 && r.buffer >= 0, "energy >= 0", r);
        need(field.inside(r.x, r.y), "position inside", r);
        need(model.flyer || !field.blocked(model.blocked, field.cell(r.x, r.y, r.team)),
             "position free", r);
        need((r.alive != 0) == (r.hp > 0) || model.flyer, "alive with hp", r);
        need(r.level >= 1 && r.level <= 10, "level", r);
        need(r.yaw >= 0 && r.yaw < kTurn, "yaw", r);
    }
    for (const TeamState& team : state.teams) {
        if (team.coins < 0 || team.base_hp < 0 || team.base_hp > team.base_max ||
            team.outpost_hp < 0 || team.dart_left < 0 || team.rune_small < 0 ||
            team.rune_large < 0 || team.radar_doubles < 0) {
            throw std::runtime_error("broken: a number of a team is out of range");
        }
    }
}

}  // namespace sysone::arena
