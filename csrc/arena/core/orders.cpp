// One-shot orders: purchases, revival, work, runes, darts, radar, messages.
#include <algorithm>

#include "arena/core/sim.h"
#include "common/xxh64.h"

namespace sysone::arena {

void Sim::orders() {
    for (int i = 0; i < count(); ++i) {
        const RobotAction& action = current_[static_cast<std::size_t>(robot(i).team)]
                                        .robots[static_cast<std::size_t>(robot(i).slot)];
        robot(i).last_error = 0;
        order_posture(i, action);
        order_deploy(i, action);
        order_revive(i, action);
        order_buy(i, action);
        order_work(i, action);
        order_support(i, action);
        order_sortie(i, action);
        if (action.rune) order_rune(i);
    }
    for (int t = 0; t < kTeams; ++t) {
        const SideAction& side = current_[static_cast<std::size_t>(t)];
        if (side.team.dart_target != kKeep) order_dart(t, side.team.dart_target);
        order_radar(t, side.team);
        for (int i = 0; i < count(); ++i) {
            const auto& message = side.robots[static_cast<std::size_t>(robot(i).slot)].say;
            if (robot(i).team == t && message) say(t, i, *message);
        }
        if (side.team.say) say(t, -1, *side.team.say);
    }
    // orders act once, also when more ticks follow without a decision
    for (SideAction& side : current_) {
        side.team = TeamAction{};
        for (RobotAction& action : side.robots) {
            RobotAction rest;
            rest.controlled = action.controlled;
            action = rest;
        }
    }
}

// A team's order to an automatic sentry costs coins; from its own strategy it is free.
bool Sim::pay_command(int i, const RobotAction& action, Name order) {
    if (!action.by_team || !model(i).automatic) return true;
    if (spend(robot(i).team, s().sentry_command_coins)) return true;
    refuse(i, order, Name::k_insufficient_coins);
    return false;
}

void Sim::order_posture(int i, const RobotAction& action) {
    Robot& r = robot(i);
    if (action.posture != kKeep && action.posture != r.posture) {
        if (r.alive == 0) {
            refuse(i, Name::k_posture, Name::k_dead);
        } else if (now() < r.posture_change) {
            refuse(i, Name::k_posture, Name::k_cooldown);
        } else if (pay_command(i, action, Name::k_posture)) {
            r.posture = action.posture;
            r.posture_change = now() + ticks(s().posture_cooldown_s);
            constexpr std::array kNames = {Name::k_move, Name::k_attack, Name::k_defence};
            tell(EventType::k_posture,
                 {id_of(i), static_cast<Word>(kNames[static_cast<std::size_t>(r.posture)])},
                 Word{1} << r.team);
        }
    }
    if (action.strong != kKeep) r.strong = action.strong;
}

void Sim::order_deploy(int i, const RobotAction& action) {
    Robot& r = robot(i);
    if (action.deploy == kKeep || action.deploy == r.deploy) return;
    if (action.deploy == 1) {
        if (r.alive == 0) return refuse(i, Name::k_deploy, Name::k_dead);
        if (r.weak != 0) return refuse(i, Name::k_deploy, Name::k_weak);
        bool held = false;
        for (int side = 0; side < kTeams; ++side) {
            held |= in_zone(i, Zone::kHighground, side) &&
                    state_.match.highground_control[static_cast<std::size_t>(side)] == r.team;
        }
        if (!held) return refuse(i, Name::k_deploy, Name::k_not_in_zone);
    }
    r.deploy = action.deploy;
    r.deploy_ticks = 0;
    tell(EventType::k_deploy, {id_of(i), r.deploy}, Word{1} << r.team);
}

void Sim::order_revive(int i, const RobotAction& action) {
    Robot& r = robot(i);
    if (model(i).flyer) return;
    if (action.revive == Revive::kNo) r.revive_wish = 0;
    if (action.revive == Revive::kYes) r.revive_wish = 1;
    if (action.revive != Revive::kBuy) return;
    r.revive_wish = 1;
    if (r.alive != 0) return;
    const Settings& rule = s();
    const Word minutes = (now() + ticks(60) - 1) / ticks(60);
    const Wide level = model(i).gains ? r.level : 1;
    Wide cost = rule.revive_now_coins_per_min * minutes + rule.revive_now_coins_per_level * level;
    const bool command = action.by_team && model(i).automatic;
    if (command) cost += rule.sentry_command_coins;
    if (!spend(r.team, cost)) {
        tell(EventType::k_purchase_refused,
             {id_of(i), static_cast<Word>(Name::k_revive),
              static_cast<Word>(Name::k_insufficient_coins)},
             Word{1} << r.team);
        r.last_error = static_cast<Word>(Name::k_insufficient_coins);
        return;
    }
    tell(EventType::k_purchase,
         {id_of(i), static_cast<Word>(Name::k_revive), static_cast<Word>(cost)}, Word{1} << r.team);
    come_back(i, rule.revive_now_hp_pct, true);
}

void Sim::order_buy(int i, const RobotAction& action) {
    if (action.buy == Buy::kNothing) return;
    Robot& r = robot(i);
    TeamState& side = team(r.team);
    const Settings& rule = s();
    constexpr std::array kWhat = {Name::k_none,        Name::k_ammo_17,     Name::k_ammo_42,
                                  Name::k_remote_ammo, Name::k_remote_heal, Name::k_sentry_minute};
    const Name what = kWhat[static_cast<std::size_t>(action.buy)];
    const auto refused = [&](Name reason) {
        r.last_error = static_cast<Word>(reason);
        tell(EventType::k_purchase_refused,
             {id_of(i), static_cast<Word>(what), static_cast<Word>(reason)}, Word{1} << r.team);
    };
    if (r.alive == 0) return refused(Name::k_dead);
    const Wide command = action.by_team && model(i).automatic ? rule.sentry_command_coins : 0;
    const bool exchange = in_zone(i, Zone::kSupply, r.team) || in_zone(i, Zone::kBase, r.team) ||
                          in_zone(i, Zone::kOutpost, 0) || in_zone(i, Zone::kOutpost, 1);
    const bool large = model(i).calibre == 42;
    Wide cost = command;
    Wide rounds = 0;
    switch (action.buy) {
        case Buy::kAmmo17:
            rounds = action.buy_amount;
            cost += rounds / rule.ammo_17_lot * rule.ammo_17_coins;
            break;
        case Buy::kAmmo42:
            rounds = action.buy_amount;
            cost += rounds * rule.ammo_42_coins;
            break;
        case Buy::kRemoteAmmo:
            rounds = large ? rule.remote_ammo_42 : rule.remote_ammo_17;
            cost += rule.remote_ammo_coins;
            break;
        case Buy::kRemoteHeal:
            cost += rule.remote_heal_coins +
                    (Wide{now()} * rule.remote_heal_coins_per_min + ticks(60) - 1) / ticks(60);
            break;
        case Buy::kNothing:
        case Buy::kSentryMinute:
            break;
    }
    const bool remote = action.buy == Buy::kRemoteAmmo || action.buy == Buy::kRemoteHeal;
    std::size_t place = r.remote_kind.size();
    if (action.buy == Buy::kSentryMinute) {
        if (!in_zone(i, Zone::kSupply, r.team)) return refused(Name::k_not_in_zone);
        if (r.minutes == 0) return refused(Name::k_no_chance);
    } else if (remote) {
        if (!out_of_combat(r)) return refused(Name::k_in_combat);
        for (std::size_t o = 0; o < r.remote_kind.size(); ++o) {
            if (r.remote_kind[o] == 0) place = o;
        }
        if (place == r.remote_kind.size()) return refused(Name::k_cap);
    } else if (!exchange) {
        return refused(Name::k_not_in_zone);
    }
    if (rounds > 0) {
        const Wide bought = large ? side.bought_42 : side.bought_17;
        if (bought + rounds > (large ? rule.ammo_team_cap_42 : rule.ammo_team_cap_17)) {
            return refused(Name::k_cap);
        }
        const Wide carried = large ? r.ammo_42 : r.ammo_17;
        if (!remote && carried + rounds > (large ? rule.ammo_carry_42 : rule.ammo_carry_17)) {
            return refused(Name::k_cap);
        }
    }
    if (!spend(r.team, cost)) return refused(Name::k_insufficient_coins);
    (large ? side.bought_42 : side.bought_17) += static_cast<Word>(rounds);
    if (remote) {
        r.remote_kind[place] = action.buy == Buy::kRemoteAmmo ? 1 : 2;
        r.remote_due[place] = now() + ticks(rule.remote_delay_s);
    } else if (action.buy == Buy::kSentryMinute) {
        r.ammo_17 += static_cast<Word>(r.minutes * rule.sentry_minute_17);
        r.minutes = 0;
    } else {
        (large ? r.ammo_42 : r.ammo_17) += static_cast<Word>(rounds);
    }
    tell(EventType::k_purchase, {id_of(i), static_cast<Word>(what), static_cast<Word>(cost)},
         Word{1} << r.team);
}

void Sim::order_work(int i, const RobotAction& action) {
    Robot& r = robot(i);
    TeamState& side = team(r.team);
    const Settings& rule = s();
    const auto may = [&](Name order) {
        if (r.alive == 0) return refuse(i, order, Name::k_dead), false;
        if (r.weak != 0) return refuse(i, order, Name::k_weak), false;
        return true;
    };
    if (action.pick && r.task == 0 && r.carrying == 0 && may(Name::k_pick)) {
        if (!in_zone(i, Zone::kResource, r.team)) {
            refuse(i, Name::k_pick, Name::k_not_in_zone);
        } else {
            r.task = 1;
            r.task_left = ticks(rule.pick_s);
        }
    }
    if (action.mount && r.task == 0 && r.mounted == 0 && may(Name::k_mount)) {
        if (side.module_unlocked == 0) {
            refuse(i, Name::k_mount, Name::k_locked);
        } else if (!in_zone(i, Zone::kWorkbench, r.team)) {
            refuse(i, Name::k_mount, Name::k_not_in_zone);
        } else {
            r.task = 3;
            r.task_left = ticks(rule.mount_s);
        }
    }
    if (action.assemble && r.task == 0 && may(Name::k_assemble)) {
        if (r.carrying == 0) {
            refuse(i, Name::k_assemble, Name::k_no_chance);
        } else if (!in_zone(i, Zone::kAssembly, r.team)) {
            refuse(i, Name::k_assemble, Name::k_not_in_zone);
        } else {
            // the next level if it may start, else the lowest finished one not yet repeated
            const auto levels = static_cast<Word>(rule.assembly_s.size());
            Word level = 0;
            bool repeat = false;
            if (side.tech_level < levels &&
                now() >= ticks(rule.assembly_unlock_s[static_cast<std::size_t>(side.tech_level)])) {
                level = side.tech_level + 1;
            } else {
                for (Word k = 1; k <= side.tech_level && level == 0; ++k) {
                    if ((side.tech_repeated >> k & 1) == 0) level = k;
                }
                repeat = true;
            }
            if (level == 0) {
                refuse(i, Name::k_assemble, Name::k_no_chance);
            } else {
                const auto at = static_cast<std::size_t>(level - 1);
                r.task = 2;
                r.task_level = level;
                r.task_repeat = repeat;
                r.task_left = ticks(rule.assembly_s[at]) * model(i).assembly_pct / 100;
                r.task_limit = rule.assembly_limit_s[at] > 0 && !repeat
                                   ? now() + ticks(rule.assembly_limit_s[at])
                                   : 0;
                tell(EventType::k_assembly_start, {id_of(i), level}, Word{1} << r.team);
            }
        }
    }
}

void Sim::order_support(int i, const RobotAction& action) {
    if (action.support == Support::kKeep) return;
    Robot& r = robot(i);
    const Word wanted = static_cast<Word>(action.support) - 1;
    if (wanted == r.support) return;
    if (wanted != 0 && now() < r.support_lock_end &&
        !(wanted == 2 && r.counters_suffered >= s().radar_buyout_from)) {
        return refuse(i, Name::k_support, Name::k_locked);
    }
    r.support = wanted;
    r.support_paid = 0;
    constexpr std::array kNames = {Name::k_off, Name::k_on, Name::k_paid};
    tell(EventType::k_aerial_support,
         {id_of(i), static_cast<Word>(kNames[static_cast<std::size_t>(wanted)])});
}

void Sim::order_sortie(int i, const RobotAction& action) {
    if (action.sortie == Sortie::kNone) return;
    Robot& r = robot(i);
    TeamState& side = team(r.team);
    const Settings& rule = s();
    Word drone = -1;
    for (Word d = 0; d < model(i).drones && drone < 0; ++d) {
        if (side.drone_state[static_cast<std::size_t>(d)] == 0) drone = d;
    }
    if (side.sortie_drone >= 0 || drone < 0) return refuse(i, Name::k_sortie, Name::k_cooldown);
    side.sortie_drone = drone;
    side.sortie_mode = static_cast<Word>(action.sortie);
    side.sortie_target = action.sortie_target;
    side.sortie_start = now();
    if (action.sortie == Sortie::kStrike) {
        const Point goal = action.sortie_target == 0 ? field().outpost(1 - r.team)
                                                     : field().base_armour(1 - r.team);
        side.sortie_x = goal.x_mm * 1000;
        side.sortie_y = goal.y_mm * 1000;
    } else {
        side.sortie_x = action.sortie_x;
        side.sortie_y = action.sortie_y;
    }
    const Wide far = length(Wide{side.sortie_x} - r.x, Wide{side.sortie_y} - r.y);
    const auto flight = static_cast<Word>(far / 1000 * kTicksPerSecond / model(i).speed_mm_s);
    const Word whole = ticks(rule.drone_sortie_s);
    Word hover = std::max<Word>(whole - 2 * flight, 0);
    if (action.sortie == Sortie::kIntercept) hover = std::min(hover, ticks(rule.drone_intercept_s));
    if (action.sortie == Sortie::kStrike) hover = 0;
    side.sortie_arrive = now() + flight;
    side.sortie_leave = side.sortie_arrive + hover;
    side.sortie_end = side.sortie_leave + flight;
    side.drone_state[static_cast<std::size_t>(drone)] = 1;
    side.recon_seen.fill(-1);
    constexpr std::array kNames = {Name::k_none, Name::k_recon, Name::k_strike, Name::k_intercept};
    tell(EventType::k_sortie,
         {team_id(r.team), static_cast<Word>(kNames[static_cast<std::size_t>(side.sortie_mode)]),
          drone},
         Word{1} << r.team);
}

void Sim::order_rune(int i) {
    Robot& r = robot(i);
    TeamState& side = team(r.team);
    const Settings& rule = s();
    if (r.alive == 0) return refuse(i, Name::k_rune, Name::k_dead);
    if (side.rune_active != 0 || (side.rune_small == 0 && side.rune_large == 0)) {
        return refuse(i, Name::k_rune, Name::k_no_chance);
    }
    const Point face = field().rune_face(r.team);
    const View at{face.x_mm * 1000, face.y_mm * 1000, face.z_mm * 1000};
    const Wide far = length((Wide{at.x} - r.x) / 1000, (Wide{at.y} - r.y) / 1000);
    if (far < rule.rune_min_mm || far > rule.rune_max_mm || !line_clear(muzzle(i), at, r.team)) {
        return refuse(i, Name::k_rune, Name::k_not_in_zone);
    }
    const bool large = side.rune_large > 0;
    (large ? side.rune_large : side.rune_small) -= 1;
    side.rune_active = large ? 2 : 1;
    side.rune_by = r.slot;
    side.rune_start = now();
    side.rune_end = now() + ticks(rule.rune_window_s);
    side.rune_arms_hit = side.rune_hits = side.rune_rings = side.rune_angle = 0;
    const PhiloxBlock words = draw(Stream::kRune, r.team, 0, 1);
    const auto between = [](const std::vector<Wide>& range, std::uint32_t word) {
        return static_cast<Word>(
            range.front() + uniform(word, static_cast<Word>(range.back() - range.front() + 1)));
    };
    side.rune_a = between(rule.rune_large_a_mrad_s, words[0]);
    side.rune_w = between(rule.rune_large_w_mrad_s, words[1]);
    rune_light(r.team, 0);
    tell(EventType::k_rune_start,
         {team_id(r.team), static_cast<Word>(large ? Name::k_large : Name::k_small), id_of(i)});
}

void Sim::order_dart(int t, Word target) {
    TeamState& side = team(t);
    if (side.dart_gate != 0 || side.dart_chances == 0 || side.dart_left == 0) {
        tell(EventType::k_refused,
             {team_id(t), static_cast<Word>(Name::k_dart), static_cast<Word>(Name::k_no_chance)},
             Word{1} << t);
        return;
    }
    --side.dart_chances;
    side.dart_gate = 1;
    side.dart_target = target;
    side.dart_gate_end = now() + ticks(s().dart_gate_s);
    tell(EventType::k_dart_gate, {team_id(t), static_cast<Word>(Name::k_opening)});
}

void Sim::order_radar(int t, const TeamAction& action) {
    TeamState& side = team(t);
    const Settings& rule = s();
    if (action.focus_given) side.radar_focus = action.focus;
    const auto refused = [&](Name reason) {
        tell(EventType::k_refused,
             {team_id(t), static_cast<Word>(Name::k_radar), static_cast<Word>(reason)},
             Word{1} << t);
    };
    if (action.radar_double) {
        const bool marked =
            std::any_of(side.radar_progress.begin(), side.radar_progress.end(),
                        [&](Word progress) { return progress >= rule.radar_marked; });
        if (side.radar_doubles == 0 || !marked) {
            refused(Name::k_no_chance);
        } else {
            --side.radar_doubles;
            side.radar_double_end = now() + ticks(rule.radar_double_s);
            tell(EventType::k_radar_double, {team_id(t)});
        }
    }
    if (action.radar_counter) {
        for (int i = 0; i < count(); ++i) {
            Robot& r = robot(i);
            if (r.team == t || !model(i).flyer || model(i).calibre == 0) continue;
            const Point tower = field().radar(t);
            const View from{tower.x_mm * 1000, tower.y_mm * 1000, tower.z_mm * 1000};
            if (side.radar_counters >= rule.radar_counters || r.supporting == 0 ||
                now() < r.support_lock_end || !line_clear(from, armour(i), t)) {
                refused(Name::k_no_chance);
                continue;
            }
            ++side.radar_counters;
            ++r.counters_suffered;
            r.support = r.supporting = 0;
            r.support_lock_end = now() + ticks(rule.radar_counter_lock_s);
            tell(EventType::k_radar_counter, {team_id(t), id_of(i)});
        }
    }
}

void Sim::say(int t, int i, const Message& message) {
    TeamState& side = team(t);
    if (i >= 0) {
        Robot& r = robot(i);
        const Word second = now() / kTicksPerSecond;
        if (r.message_second != second) r.message_count = 0;
        r.message_second = second;
        ++r.message_count;
    }
    messages_[t].push_back(message);
    messages_[t].back().tick = now();
    ++side.messages;
    // the text itself changes nothing in the match; its hash keeps histories apart
    const auto before = static_cast<std::uint64_t>(static_cast<std::uint32_t>(side.messages_high))
                            << 32 |
                        static_cast<std::uint32_t>(side.messages_low);
    const std::uint64_t hash =
        xxh64({reinterpret_cast<const std::uint8_t*>(message.text.data()), message.text.size()},
              before ^ static_cast<std::uint64_t>(message.from << 8 | message.to));
    side.messages_low = static_cast<Word>(static_cast<std::uint32_t>(hash));
    side.messages_high = static_cast<Word>(static_cast<std::uint32_t>(hash >> 32));
    tell(EventType::k_message, {event_id(t, message.from)}, Word{1} << t);
}

}  // namespace sysone::arena
