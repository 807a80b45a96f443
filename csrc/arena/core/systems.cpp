// Team systems: runes, darts, radar, aerial support and drones.
#include <algorithm>

#include "arena/core/sim.h"

namespace sysone::arena {
namespace {

constexpr int kArms = 5;

Word bits(Word mask) {
    Word n = 0;
    for (; mask != 0; mask &= mask - 1) ++n;
    return n;
}

}  // namespace

// Lights the next arm (small: one not yet hit) or the next pair (large: any two).
void Sim::rune_light(int t, std::uint32_t index) {
    TeamState& side = team(t);
    const PhiloxBlock words = draw(Stream::kRune, t, 0, index);
    const auto pick = [](std::uint32_t word, Word from) {
        Word choice = uniform(word, bits(from));
        for (int arm = 0; arm < kArms; ++arm) {
            if ((from >> arm & 1) != 0 && choice-- == 0) return arm;
        }
        return 0;
    };
    const Word all = (Word{1} << kArms) - 1;
    if (side.rune_active == 1) {
        side.rune_lit = Word{1} << pick(words[0], all & ~side.rune_arms_hit);
    } else {
        const Word first = Word{1} << pick(words[0], all);
        side.rune_lit = first | Word{1} << pick(words[1], all & ~first);
    }
    side.rune_pair_hit = 0;
    side.rune_lit_end = now() + ticks_ms(s().rune_arm_ms);
}

void Sim::rune_fail(int t) {
    TeamState& side = team(t);
    tell(EventType::k_rune_fail,
         {team_id(t), static_cast<Word>(side.rune_active == 2 ? Name::k_large : Name::k_small)});
    side.rune_active = side.rune_lit = 0;
}

void Sim::rune_success(int t) {
    TeamState& side = team(t);
    const Settings& rule = s();
    const bool large = side.rune_active == 2;
    const Word rings = side.rune_rings * 10 / std::max(side.rune_hits, 1);
    side.rune_buff = side.rune_active;
    side.rune_extra = 0;
    if (large) {
        const auto hits = static_cast<std::size_t>(std::clamp<Word>(
            side.rune_hits - kArms, 0, static_cast<Word>(rule.rune_large_s.size()) - 1));
        side.rune_buff_end = now() + 1 + ticks(rule.rune_large_s[hits]);
        std::size_t row = 0;
        while (row + 1 < rule.rune_ring_upper.size() && rings > rule.rune_ring_upper[row]) ++row;
        side.rune_attack = static_cast<Word>(rule.rune_attack_pct[row] * 10);
        side.rune_defence = static_cast<Word>(rule.rune_def_pct[row] * 10);
        side.rune_cooling = static_cast<Word>(rule.rune_cooling_pct[row]);
        Word sharers = 0;
        for (int i = 0; i < count(); ++i) {
            sharers += robot(i).team == t && robot(i).alive != 0 && model(i).gains;
        }
        for (int i = 0; i < count() && sharers > 0; ++i) {
            if (robot(i).team == t && robot(i).alive != 0) gain(i, rule.exp_rune * 10 / sharers);
        }
    } else {
        side.rune_buff_end = now() + 1 + ticks(rule.rune_small_s);
        side.rune_attack = 0;
        side.rune_defence = static_cast<Word>(rule.rune_small_def_pct * 10);
        side.rune_cooling = 100;
    }
    tell(EventType::k_rune_success,
         {team_id(t), static_cast<Word>(large ? Name::k_large : Name::k_small), side.rune_hits,
          rings});
    side.rune_active = side.rune_lit = 0;
}

void Sim::rune_hit(int t, int arm, Word ring, int by) {
    TeamState& side = team(t);
    if (side.rune_active == 0) return;
    const bool lit = (side.rune_lit >> arm & 1) != 0;
    if (!lit) {
        if (side.rune_active == 1) rune_fail(t);
        return;
    }
    side.rune_arms_hit |= Word{1} << arm;
    side.rune_lit &= ~(Word{1} << arm);
    ++side.rune_hits;
    side.rune_rings += ring;
    tell(EventType::k_rune_hit, {team_id(t), arm, ring, event_id(t, by)});
    const bool small = side.rune_active == 1;
    if (small ? side.rune_hits >= s().rune_small_hits : bits(side.rune_arms_hit) == kArms) {
        rune_success(t);
        return;
    }
    const auto index = static_cast<std::uint32_t>(2 + side.rune_hits);
    if (small || side.rune_pair_hit != 0) {
        rune_light(t, index);
    } else {
        side.rune_pair_hit = 1;
        side.rune_lit_end = now() + ticks_ms(s().rune_second_ms);
    }
}

void Sim::rune(int t) {
    TeamState& side = team(t);
    if (side.rune_active == 0) return;
    if (now() >= side.rune_end) return rune_fail(t);
    if (now() >= side.rune_lit_end) {
        // the second arm of a pair may be missed, the first may not
        if (side.rune_active == 1 || side.rune_pair_hit == 0) return rune_fail(t);
        rune_light(t, static_cast<std::uint32_t>(2 + side.rune_hits));
    }
    side.rune_angle = wrap(Wide{side.rune_angle} + rune_step(side, now() - side.rune_start));
}

void Sim::dart(int t) {
    TeamState& side = team(t);
    const Settings& rule = s();
    if (side.dart_gate == 1 && now() >= side.dart_gate_end) {
        side.dart_gate = 2;
        side.dart_gate_end = now() + ticks(rule.dart_window_s);
        side.dart_next = now();
        side.dart_window_left = static_cast<Word>(rule.darts_per_window);
        tell(EventType::k_dart_gate, {team_id(t), static_cast<Word>(Name::k_window)});
    }
    if (side.dart_gate != 2) return;
    if (now() >= side.dart_gate_end || side.dart_window_left == 0 || side.dart_left == 0) {
        side.dart_gate = 0;
        tell(EventType::k_dart_gate, {team_id(t), static_cast<Word>(Name::k_closed)});
        return;
    }
    if (now() < side.dart_next) return;
    side.dart_next = now() + ticks(rule.dart_gap_s);
    --side.dart_window_left;
    --side.dart_left;
    const int enemy = 1 - t;
    constexpr std::array kNames = {Name::k_outpost, Name::k_base_fixed, Name::k_base_random_fixed,
                                   Name::k_base_random_moving, Name::k_base_end_moving};
    const auto target = static_cast<std::size_t>(side.dart_target);
    const auto name = static_cast<Word>(kNames[target]);
    const std::array damage = {rule.dart_dmg_outpost, rule.dart_dmg_base_fixed,
                               rule.dart_dmg_base_random_fixed, rule.dart_dmg_base_random_moving,
                               rule.dart_dmg_base_end_moving};
    const std::array chance = {rule.dart_hit_pct_outpost, rule.dart_hit_pct_base_fixed,
                               rule.dart_hit_pct_base_random_fixed,
                               rule.dart_hit_pct_base_random_moving,
                               rule.dart_hit_pct_base_end_moving};
    tell(EventType::k_dart_launch, {team_id(t), name});
    Wide per_mille = chance[target] * 10;
    const TeamState& other = team(enemy);
    if (other.sortie_drone >= 0 && other.sortie_mode == static_cast<Word>(Sortie::kIntercept) &&
        now() >= other.sortie_arrive && now() < other.sortie_leave) {
        const Point goal = target == 0 ? field().outpost(enemy) : field().base_armour(enemy);
        if (length(Wide{other.sortie_x} / 1000 - goal.x_mm,
                   Wide{other.sortie_y} / 1000 - goal.y_mm) <= rule.drone_intercept_mm) {
            per_mille = per_mille * rule.drone_dart_pct / 100;
        }
    }
    const Word roll = uniform(draw(Stream::kDart, t, 0, 0)[0], 1000);
    if (roll >= per_mille) {
        tell(EventType::k_dart_miss, {team_id(t), name});
        return;
    }
    const Word before = side.attack_damage;
    const Wide defence = building_defence_[static_cast<std::size_t>(enemy)];
    const auto amount =
        static_cast<Word>((damage[target] * 1000 * (1000 - defence) + 500000) / 1000000);
    if (target == 0) {
        hurt_outpost(enemy, amount);
    } else {
        if (!outpost_up(enemy)) {
            hurt_base(enemy, amount);
            if (target >= 3) open_base(enemy);
            team(enemy).blind_end = now() + 1 + ticks(rule.dart_blind_s);
        }
    }
    tell(EventType::k_dart_hit,
         {event_id(t, kDartSlot), event_id(enemy, target == 0 ? kOutpostSlot : kBaseSlot), name,
          side.attack_damage - before});
}

// Once a second: mark progress of every enemy ground robot, and where marked ones are shown.
void Sim::radar(int t) {
    TeamState& side = team(t);
    const Settings& rule = s();
    const Point tower = field().radar(t);
    const View from{tower.x_mm * 1000, tower.y_mm * 1000, tower.z_mm * 1000};
    for (int i = 0; i < count(); ++i) {
        const Robot& r = robot(i);
        if (r.team == t || model(i).flyer) continue;
        const auto slot = static_cast<std::size_t>(r.slot);
        const Word before = side.radar_progress[slot];
        Wide change = -rule.radar_loss;
        if (r.alive != 0 && line_clear(from, armour(i), t)) {
            change =
                (side.radar_focus >> r.slot & 1) != 0 ? rule.radar_focus_gain : rule.radar_gain;
        }
        side.radar_progress[slot] =
            static_cast<Word>(std::clamp<Wide>(before + change, 0, rule.radar_max));
        if (side.radar_progress[slot] < rule.radar_marked) continue;
        if (before < rule.radar_marked) tell(EventType::k_radar_marked, {team_id(t), id_of(i)});
        const PhiloxBlock words = draw(Stream::kRadar, t, r.slot, 0);
        const auto near = [&](Word at, std::uint32_t word, Word most) {
            const Wide noise = rule.radar_noise_mm * 1000;
            const Wide off = uniform(word, static_cast<Word>(2 * noise + 1)) - noise;
            return static_cast<Word>(std::clamp<Wide>(at + off, 0, most - 1));
        };
        side.radar_x[slot] = near(r.x, words[0], field().width_um());
        side.radar_y[slot] = near(r.y, words[1], field().height_um());
    }
}

void Sim::aerial(int i) {
    Robot& r = robot(i);
    if (!model(i).flyer || model(i).calibre == 0) return;
    const Settings& rule = s();
    bool on = false;
    if (r.support == 1) {
        if (now() < r.support_lock_end || r.support_left <= 0) {
            r.support = 0;
        } else {
            --r.support_left;
            on = true;
        }
    } else if (r.support == 2) {
        const bool bought_out = now() < r.support_lock_end;
        if (bought_out && r.counters_suffered < rule.radar_buyout_from) {
            r.support = 0;
        } else {
            on = true;
            if (r.support_paid == 0) {
                const Wide price =
                    rule.support_coins_s * (bought_out ? rule.radar_buyout_pct : 100) / 100;
                on = spend(r.team, price);
                if (on) {
                    r.support_paid = kTicksPerSecond;
                } else {
                    r.support = 0;
                }
            }
            if (on) --r.support_paid;
        }
    }
    if (r.supporting != 0 && !on) {
        tell(EventType::k_aerial_support, {id_of(i), static_cast<Word>(Name::k_off)});
    }
    r.supporting = on;
}

void Sim::drones(int t) {
    TeamState& side = team(t);
    const Settings& rule = s();
    if (side.sortie_drone < 0) return;
    const auto drone = static_cast<std::size_t>(side.sortie_drone);
    const auto mode = static_cast<Sortie>(side.sortie_mode);
    const int enemy = 1 - t;
    if (mode == Sortie::kStrike && now() >= side.sortie_arrive) {
        const Word roll = uniform(draw(Stream::kDrone, t, 0, 0)[0], 1000);
        const bool base = side.sortie_target == 1;
        if (roll < rule.drone_strike_pct * 10 && !(base && outpost_up(enemy))) {
            const Word before = side.attack_damage;
            const Wide defence = building_defence_[static_cast<std::size_t>(enemy)];
            const auto amount = static_cast<Word>(
                (rule.drone_strike_damage * 1000 * (1000 - defence) + 500000) / 1000000);
            if (base) {
                hurt_base(enemy, amount);
            } else {
                hurt_outpost(enemy, amount);
            }
            tell(EventType::k_drone_hit,
                 {team_id(t), event_id(enemy, base ? kBaseSlot : kOutpostSlot),
                  side.attack_damage - before});
        }
        side.drone_state[drone] = 3;
        side.drone_until[drone] = now() + ticks(rule.drone_lost_s);
        side.sortie_drone = -1;
        tell(EventType::k_drone_lost, {team_id(t), static_cast<Word>(drone)});
        return;
    }
    // where the drone is on its way there, at the goal, or back
    int hangar = -1;
    for (int i = 0; i < count(); ++i) {
        if (robot(i).team == t && model(i).drones != 0) hangar = i;
    }
    const Robot& home = robot(hangar);
    Wide share = 1000;
    if (now() < side.sortie_arrive) {
        share = Wide{now() - side.sortie_start} * 1000 /
                std::max(side.sortie_arrive - side.sortie_start, 1);
    } else if (now() >= side.sortie_leave) {
        share =
            Wide{side.sortie_end - now()} * 1000 / std::max(side.sortie_end - side.sortie_leave, 1);
    }
    const View at{static_cast<Word>(home.x + (Wide{side.sortie_x} - home.x) * share / 1000),
                  static_cast<Word>(home.y + (Wide{side.sortie_y} - home.y) * share / 1000),
                  static_cast<Word>(rule.drone_height_mm * 1000)};
    if (mode == Sortie::kRecon && now() % 2 == 0) {
        for (int i = 0; i < count(); ++i) {
            const Robot& r = robot(i);
            if (r.team == t || model(i).drones != 0) continue;
            const Wide far = length((Wide{r.x} - at.x) / 1000, (Wide{r.y} - at.y) / 1000);
            if (far > rule.drone_recon_mm || !line_clear(at, armour(i), t)) continue;
            const auto slot = static_cast<std::size_t>(r.slot);
            side.recon_seen[slot] = now();
            side.recon_x[slot] = r.x;
            side.recon_y[slot] = r.y;
            side.recon_hp[slot] = r.hp;
        }
    }
    if (mode == Sortie::kIntercept && now() >= side.sortie_arrive && now() < side.sortie_leave) {
        std::size_t kept = 0;
        std::uint32_t index = 0;
        for (std::size_t i = 0; i < state_.projectiles.size(); ++i) {
            const Projectile p = state_.projectiles[i];
            bool gone = false;
            if (p.team != t && p.calibre == 42) {
                const auto within = [&](Wide x, Wide y, Wide z) {
                    const Wide reach = rule.drone_intercept_mm * 1000;
                    const Wide dx = x - at.x, dy = y - at.y, dz = z - at.z;
                    return dx * dx + dy * dy + dz * dz <= reach * reach;
                };
                // once for each projectile: when it comes within reach
                const bool came =
                    within(p.x, p.y, p.z) &&
                    (now() == p.born ||
                     !within(p.x - p.vx * kTickMs, p.y - p.vy * kTickMs, p.z - p.vz * kTickMs));
                if (came) {
                    const Word roll = uniform(draw(Stream::kDrone, t, 1, index++)[0], 1000);
                    gone = roll < rule.drone_intercept_pct * 10;
                }
                if (gone) {
                    note_shot(p, p.x, p.y, false);
                    tell(EventType::k_drone_intercept, {team_id(t), event_id(p.team, p.slot)});
                }
            }
            if (!gone) state_.projectiles[kept++] = p;
        }
        state_.projectiles.resize(kept);
    }
    if (now() >= side.sortie_end) {
        side.drone_state[drone] = 2;
        side.drone_until[drone] = now() + ticks(rule.drone_recharge_s);
        side.sortie_drone = -1;
        if (mode != Sortie::kRecon) return;
        side.report_seen = side.recon_seen;
        side.report_x = side.recon_x;
        side.report_y = side.recon_y;
        side.report_hp = side.recon_hp;
    }
}

void Sim::systems() {
    for (int t = 0; t < kTeams; ++t) rune(t);
    for (int t = 0; t < kTeams; ++t) dart(t);
    if ((now() + 1) % kTicksPerSecond == 0) {
        for (int t = 0; t < kTeams; ++t) radar(t);
    }
    for (int i = 0; i < count(); ++i) aerial(i);
    if (rules_->is_2027()) {
        for (int t = 0; t < kTeams; ++t) drones(t);
    }
}

}  // namespace sysone::arena
