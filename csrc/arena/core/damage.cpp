// Hits of a tick, grouped by victim and applied together, with the buffs of the tick's start.
#include <algorithm>

#include "arena/core/sim.h"

namespace sysone::arena {
namespace {

Wide final_damage(Wide base, Wide attack_pm, Wide defence_pm) {
    return (base * (1000 + attack_pm) * (1000 - defence_pm) + 500000) / 1000000;
}

int owner_of(Building building) {
    return building == Building::kBlueBase || building == Building::kBlueOutpost ? 1 : 0;
}
bool is_base(Building building) {
    return building == Building::kRedBase || building == Building::kBlueBase;
}

}  // namespace

void Sim::gain(int i, Wide tenths) {
    if (i < 0 || tenths <= 0 || !model(i).gains) return;
    TeamState& side = team(robot(i).team);
    if (side.rune_buff == 1) {
        const Wide extra = std::min(tenths, s().exp_double_cap * 10 - side.rune_extra);
        if (extra > 0) {
            side.rune_extra += static_cast<Word>(extra);
            tenths += extra;
        }
    }
    robot(i).exp += static_cast<Word>(tenths);
}

void Sim::kill(int victim, int killer) {
    Robot& r = robot(victim);
    const Settings& rule = s();
    if (killer >= 0) {
        ++robot(killer).kills;
        const Wide level_v = model(victim).gains ? r.level : 1;
        const Wide level_k = model(killer).gains ? robot(killer).level : 1;
        const Wide gap = std::max<Wide>(0, level_v - level_k);
        gain(killer, rule.exp_kill * level_v * (100 + rule.exp_kill_gap_pct * gap) * 10 / 100);
        tell(EventType::k_kill, {id_of(killer), id_of(victim)});
    }
    tell(EventType::k_death, {id_of(victim)});
    ++r.deaths;
    r.alive = r.hp = r.heat = r.vx = r.vy = r.yaw_rate = 0;
    r.buffer = static_cast<Word>(rule.buffer_energy_j * 1000);
    if (r.lock == 1) r.lock = 0;
    r.cut = r.weak = r.carrying = r.task = r.task_left = r.deploy = r.deploy_ticks = 0;
    r.power_demand = r.power_before = 0;
    r.boost_end = r.invulnerable_end = 0;
    r.zones = 0;
    r.hold_end.fill(0);
    r.buff_source.fill(0);
    r.buff_kind.fill(0);
    r.buff_value.fill(0);
    r.buff_end.fill(0);
    r.cross_group = r.card = r.penalty_zone = r.penalty_fly = 0;
    r.reserve = r.reserve_size = 0;
    r.heal_micro = 0;
    // seconds, halves up: 10 + elapsed/10 + 20 for each immediate revival
    const Wide per_second = kTicksPerSecond * rule.revive_elapsed_div;
    const Wide whole = rule.revive_base_s + rule.revive_per_bought_s * r.revivals_bought;
    const Wide seconds = (whole * per_second * 2 + Wide{now()} * 2 + per_second) / (per_second * 2);
    r.revive_required = static_cast<Word>(seconds * kTicksPerSecond);
    r.revive_progress = 0;
}

void Sim::open_base(int t) {
    TeamState& side = team(t);
    if (side.base_open != 0) return;
    side.base_open = 1;
    tell(EventType::k_base_armour_open, {team_id(t)});
}

void Sim::base_maybe_opens(int t) {
    if (team(t).base_hp < s().base_open_below_hp) open_base(t);
}

// The shield first, then the hit points; returns the hit points lost.
Word Sim::hurt_base(int t, Word amount) {
    TeamState& side = team(t);
    const Word shield = std::min(side.base_shield, amount);
    const Word lost = std::min(side.base_hp, amount - shield);
    side.base_shield -= shield;
    side.base_hp -= lost;
    side.base_lost += lost;
    side.base_lowest = std::min(side.base_lowest, side.base_hp);
    team(1 - t).attack_damage += shield + lost;
    if (shield + lost > 0 && now() >= side.base_hit_event) {
        side.base_hit_event = now() + ticks(s().base_hit_event_s);
        tell(EventType::k_base_hit, {team_id(t)});
    }
    base_maybe_opens(t);
    return lost;
}

void Sim::hurt_outpost(int t, Word amount) {
    TeamState& side = team(t);
    if (side.outpost_hp <= 0) return;
    const Word lost = std::min(side.outpost_hp, amount);
    side.outpost_hp -= lost;
    team(1 - t).attack_damage += lost;
    if (side.outpost_hp > 0) return;
    ++side.outpost_destroyed;
    side.outpost_clock = 0;
    tell(EventType::k_outpost_destroyed, {team_id(t)});
}

void Sim::hit_robot(int victim, std::vector<Hit*>& hits) {
    Robot& r = robot(victim);
    if (r.alive == 0) return;
    const bool safe = now() < r.invulnerable_end || sheltered(victim);
    for (Hit* hit : hits) {
        if (r.hp <= 0) break;
        const Wide amount = final_damage(hit->base_damage, hit->attack_pm,
                                         defence_[static_cast<std::size_t>(victim)]);
        const auto lost = static_cast<Word>(safe ? 0 : std::clamp<Wide>(amount, 0, r.hp));
        if (hit->collision) {
            tell(EventType::k_collision, {id_of(victim), id_of(hit->attacker), lost});
        } else {
            tell(EventType::k_hit, {id_of(hit->attacker), id_of(victim), hit->plate, lost});
        }
        if (lost == 0) continue;
        r.hp -= lost;
        mark_combat(r);
        team(hit->attacker_team).attack_damage += lost;
        gain(hit->attacker, lost * s().exp_per_robot_hp * 10);
        if (r.hp <= 0) kill(victim, hit->attacker);
    }
}

void Sim::hit_building(Building building, std::vector<Hit*>& hits) {
    const int owner = owner_of(building);
    const Wide defence = building_defence_[static_cast<std::size_t>(owner)];
    for (Hit* hit : hits) {
        const auto amount =
            static_cast<Word>(final_damage(hit->base_damage, hit->attack_pm, defence));
        const Word before = team(1 - owner).attack_damage;
        Word lost = 0;
        if (is_base(building)) {
            lost = hurt_base(owner, amount);
            const Wide div = s().exp_base_divisor;
            gain(hit->attacker, (lost + div - 1) / div * 10);
        } else {
            const Word hp = team(owner).outpost_hp;
            if (hp <= 0) break;
            hurt_outpost(owner, amount);
            lost = hp - team(owner).outpost_hp;
            gain(hit->attacker, lost * s().exp_per_outpost_hp * 10);
        }
        tell(EventType::k_hit,
             {hit->attacker < 0 ? team_id(hit->attacker_team) : id_of(hit->attacker),
              event_id(owner, is_base(building) ? kBaseSlot : kOutpostSlot), hit->plate,
              team(1 - owner).attack_damage - before});
    }
}

void Sim::damage() {
    if (hits_.empty()) return;
    std::stable_sort(hits_.begin(), hits_.end(),
                     [](const Hit& a, const Hit& b) { return a.order < b.order; });
    std::vector<Hit*> group;
    for (int i = 0; i < count(); ++i) {
        group.clear();
        for (Hit& hit : hits_) {
            if (hit.victim == i) group.push_back(&hit);
        }
        if (!group.empty()) hit_robot(i, group);
    }
    for (const Building building :
         {Building::kRedBase, Building::kBlueBase, Building::kRedOutpost, Building::kBlueOutpost}) {
        group.clear();
        for (Hit& hit : hits_) {
            if (hit.victim < 0 && hit.building == building) group.push_back(&hit);
        }
        if (!group.empty()) hit_building(building, group);
    }
    hits_.clear();
}

}  // namespace sysone::arena
