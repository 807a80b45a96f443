// What time alone brings: income, chances, expiry, deliveries, and the numbers in force.
#include <algorithm>

#include "arena/core/sim.h"

namespace sysone::arena {

Word Sim::power_base_w(int i) const {
    const Robot& r = robot(i);
    const Settings& rule = s();
    Wide base = table(model(i).power_w, i);
    if (r.energy <= 0) {
        base = std::min(base, rule.energy_saving_w);
    } else if (r.energy >= rule.energy_bonus_from_j * 1000) {
        base =
            std::max(base, std::min(base * rule.energy_bonus_pct / 100, rule.energy_bonus_cap_w));
    }
    if (now() < r.boost_end) {
        base = std::max(
            base, std::min(base * rule.revive_now_power_pct / 100, rule.revive_now_power_cap_w));
    }
    return static_cast<Word>(base);
}

void Sim::refresh_power(int i) {
    Robot& r = robot(i);
    if (model(i).flyer) return;
    Wide limit = Wide{power_base_w(i)} * 1000;
    if (model(i).role == Role::kSentry) {
        const auto p = static_cast<std::size_t>(r.posture);
        const bool weakened = r.posture_ticks[p] >= ticks(s().posture_weaken_s);
        const bool strong = r.strong != 0 && r.strong_ticks[p] < ticks(s().posture_strong_s);
        const auto& factor = strong     ? s().posture_power_strong_pct
                             : weakened ? s().posture_power_weak_pct
                                        : s().posture_power_pct;
        limit = limit * factor[p] / 100;
    }
    r.power_limit = static_cast<Word>(limit);
}

// When the cap rises, a living robot's hit points rise by the same amount.
void Sim::refresh_max(int i) {
    Robot& r = robot(i);
    const Word cap = table(model(i).hp, i);
    if (cap == r.max_hp) return;
    if (r.alive != 0 && cap > r.max_hp) r.hp += cap - r.max_hp;
    r.max_hp = cap;
    r.hp = std::min(r.hp, cap);
}

Word Sim::cooling_of(int i) const {
    const Robot& r = robot(i);
    const Settings& rule = s();
    Wide factor = std::max<Wide>(100, buff(r, 2));
    const TeamState& side = team(r.team);
    if (side.rune_buff == 2) factor = std::max<Wide>(factor, side.rune_cooling);
    if (model(i).role == Role::kSentry) {
        const auto p = static_cast<std::size_t>(r.posture);
        const bool weakened = r.posture_ticks[p] >= ticks(rule.posture_weaken_s);
        factor = std::max(factor,
                          (weakened ? rule.posture_cooling_weak_pct : rule.posture_cooling_pct)[p]);
    }
    Wide cooling = Wide{table(model(i).cooling, i)} * 1000 * factor / 100;
    if (side.fortress_holder == r.slot) {
        const Wide loss = rule.base_hp - side.base_lowest;
        cooling += std::min(rule.fortress_cooling_max,
                            std::max<Wide>(loss, 0) / rule.fortress_cooling_div) *
                   1000;
    }
    return static_cast<Word>(cooling);
}

Word Sim::defence_pm(int i) const {
    const Robot& r = robot(i);
    const Settings& rule = s();
    const TeamState& side = team(r.team);
    Wide most = buff(r, 1);
    Wide least = 0;
    const auto have = [&most](Wide pct) { most = std::max(most, pct * 10); };
    const auto lack = [&least](Wide pct) { least = std::max(least, pct * 10); };
    if (side.rune_buff != 0) most = std::max<Wide>(most, side.rune_defence);
    if (side.tech_level > 0) {
        have(rule.tech_defence_pct[static_cast<std::size_t>(side.tech_level - 1)]);
    }
    if (model(i).flyer) return static_cast<Word>(most);
    if (in_zone(i, Zone::kBase, r.team)) have(rule.def_base_pct);
    for (int side_of = 0; side_of < kTeams; ++side_of) {
        if (in_zone(i, Zone::kOutpost, side_of)) have(rule.def_outpost_pct);
        if (in_zone(i, Zone::kHighground, side_of)) {
            const bool holds =
                rules_->is_2027()
                    ? side_of == r.team
                    : state_.match.highground_control[static_cast<std::size_t>(side_of)] == r.team;
            if (holds) have(rule.def_highground_pct);
        }
    }
    if (in_zone(i, Zone::kHighland, 0) && state_.match.highland_control == r.team) {
        have(rule.def_highland_pct);
    }
    if (side.fortress_holder == r.slot) have(rule.def_fortress_pct);
    if (r.deploy != 0 && r.deploy_ticks >= ticks(rule.deploy_setup_s)) have(rule.deploy_def_pct);
    if (in_zone(i, Zone::kFortress, 1 - r.team)) lack(rule.fortress_vulnerability_pct);
    if (model(i).role == Role::kSentry) {
        const auto p = static_cast<std::size_t>(r.posture);
        const bool weakened = r.posture_ticks[p] >= ticks(rule.posture_weaken_s);
        const bool strong = r.strong != 0 && r.strong_ticks[p] < ticks(rule.posture_strong_s);
        have((strong     ? rule.posture_defence_strong_pct
              : weakened ? rule.posture_defence_weak_pct
                         : rule.posture_defence_pct)[p]);
        lack(rule.posture_vulnerability_pct[p]);
    }
    const TeamState& enemy = team(1 - r.team);
    if (enemy.radar_progress[static_cast<std::size_t>(r.slot)] >= rule.radar_marked) {
        lack(rule.radar_vulnerability_pct * (enemy.radar_double_end > now() ? 2 : 1));
    }
    return static_cast<Word>(std::clamp<Wide>(most - least, -2000, 1000));
}

void Sim::clock() {
    const Settings& rule = s();
    const Word t = now();
    for (int k = 0; k < kTeams; ++k) {
        TeamState& side = team(k);
        const auto pay = [&](Wide coins, Name what) {
            if (coins <= 0) return;
            side.coins += static_cast<Word>(coins);
            side.coins_total += static_cast<Word>(coins);
            tell(EventType::k_income,
                 {team_id(k), static_cast<Word>(what), static_cast<Word>(coins)}, Word{1} << k);
        };
        for (std::size_t i = 0; i < rule.income_at_s.size() && i < rule.income_coins.size(); ++i) {
            if (t == ticks(rule.income_at_s[i])) pay(rule.income_coins[i], Name::k_income);
        }
        if (t > 0 && rule.tech_income_every_s > 0 && t % ticks(rule.tech_income_every_s) == 0) {
            pay(side.tech_income, Name::k_tech);
        }
        for (const Wide at : rule.rune_small_at_s) {
            if (t != ticks(at)) continue;
            ++side.rune_small;
            tell(EventType::k_rune_chance, {team_id(k), static_cast<Word>(Name::k_small)});
        }
        if (t == ticks(rule.rune_small_expire_s)) side.rune_small = 0;
        for (const Wide at : rule.rune_large_at_s) {
            if (t != ticks(at)) continue;
            ++side.rune_large;
            tell(EventType::k_rune_chance, {team_id(k), static_cast<Word>(Name::k_large)});
        }
        for (const Wide at : rule.dart_open_at_s) {
            if (t == ticks(at)) ++side.dart_chances;
        }
        if (side.rune_buff != 0 && t >= side.rune_buff_end) {
            side.rune_buff = side.rune_attack = side.rune_defence = side.rune_cooling = 0;
            side.rune_extra = 0;
        }
        for (std::size_t d = 0; d < side.drone_state.size(); ++d) {
            if (side.drone_state[d] >= 2 && t >= side.drone_until[d]) side.drone_state[d] = 0;
        }
        // the turning outpost
        const bool was_stopped = side.outpost_stopped != 0;
        if (t >= ticks(rule.outpost_spin_stop_s) || side.outpost_destroyed > 0 ||
            team(1 - k).base_open != 0) {
            side.outpost_stopped = 1;
        }
        if (side.outpost_stopped != 0) {
            if (!was_stopped) {
                const Point at = field().outpost(k);
                side.outpost_rate = 0;
                side.outpost_angle = atan2(field().height_um() / 2000 - at.y_mm,
                                           field().width_um() / 2000 - at.x_mm);
            }
        } else {
            const Wide full = rate_from_mrad_s(rule.outpost_spin_mrad_s);
            const Wide up = std::max<Wide>(ticks(rule.outpost_spin_runup_s), 1);
            side.outpost_rate = static_cast<Word>(full * std::min<Wide>(t, up) / up);
            side.outpost_angle = wrap(Wide{side.outpost_angle} + side.outpost_rate);
        }
        // the module
        if (rules_->is_2027() && side.module_unlocked == 0 &&
            (side.tech_level >= rule.module_level || t >= ticks(rule.module_unlock_s) ||
             side.base_hp <= team(1 - k).base_hp - rule.module_base_deficit_hp)) {
            side.module_unlocked = 1;
            tell(EventType::k_module_unlocked, {team_id(k)});
        }
    }
    for (int i = 0; i < count(); ++i) {
        Robot& r = robot(i);
        for (std::size_t b = 0; b < r.buff_source.size(); ++b) {
            if (r.buff_source[b] != 0 && t >= r.buff_end[b]) {
                r.buff_source[b] = r.buff_kind[b] = r.buff_value[b] = r.buff_end[b] = 0;
            }
        }
        if (r.weak == 2 && t >= r.weak_end) r.weak = 0;
        if (r.cut > 0 && --r.cut == 0) r.buffer = static_cast<Word>(rule.buffer_energy_j * 1000);
        if (model(i).role == Role::kSentry) {
            if (t > 0 && t % ticks(60) == 0 && t / ticks(60) <= rule.sentry_minutes) ++r.minutes;
            if (r.alive != 0) {
                const auto p = static_cast<std::size_t>(r.posture);
                ++r.posture_ticks[p];
                if (r.strong != 0 && r.strong_ticks[p] < ticks(rule.posture_strong_s)) {
                    ++r.strong_ticks[p];
                    if (r.posture == 1) r.heat = 0;
                }
            }
        }
        if (model(i).flyer && model(i).calibre != 0 && t > 0 && t % ticks(60) == 0) {
            r.support_left += ticks(rule.support_per_min_s);
        }
        if (r.deploy != 0 && r.deploy_ticks < ticks(rule.deploy_setup_s)) ++r.deploy_ticks;
        for (std::size_t o = 0; o < r.remote_kind.size(); ++o) {
            if (r.remote_kind[o] == 0 || t < r.remote_due[o]) continue;
            const Word kind = r.remote_kind[o];
            r.remote_kind[o] = r.remote_due[o] = 0;
            if (kind == 1) {
                if (model(i).calibre == 42) {
                    r.ammo_42 = static_cast<Word>(std::max<Wide>(
                        r.ammo_42,
                        std::min<Wide>(r.ammo_42 + rule.remote_ammo_42, rule.ammo_carry_42)));
                } else {
                    r.ammo_17 = static_cast<Word>(std::max<Wide>(
                        r.ammo_17,
                        std::min<Wide>(r.ammo_17 + rule.remote_ammo_17, rule.ammo_carry_17)));
                }
                tell(EventType::k_delivered, {id_of(i), static_cast<Word>(Name::k_remote_ammo)},
                     Word{1} << r.team);
            } else if (r.alive != 0) {
                r.hp = static_cast<Word>(
                    std::min<Wide>(r.max_hp, r.hp + r.max_hp * rule.remote_heal_pct / 100));
                tell(EventType::k_delivered, {id_of(i), static_cast<Word>(Name::k_remote_heal)},
                     Word{1} << r.team);
            }
        }
        refresh_power(i);
    }
}

}  // namespace sysone::arena
