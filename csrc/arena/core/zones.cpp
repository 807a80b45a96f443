// Zones: who occupies what, crossings, captures, healing, rebuilding, work and penalties.
#include <algorithm>

#include "arena/core/sim.h"

namespace sysone::arena {
namespace {

// kinds of zones that stay occupied for a while after being left
enum Hold : std::size_t { kHoldHighland, kHoldHighground, kHoldFortress };

}  // namespace

bool Sim::in_zone(int i, Zone zone, int side) const {
    return (robot(i).zones & zone_bit(zone, side)) != 0;
}

// The zones that a robot occupies under their conditions.
void Sim::occupy(int i) {
    Robot& r = robot(i);
    const Model& kind = model(i);
    const Settings& rule = s();
    const Word before = r.zones;
    Word now_in = 0;
    if (r.alive != 0 && !kind.flyer) {
        const Word under = field().zones(cell_of(r));
        const auto lies = [&](Zone zone, int side) { return (under & zone_bit(zone, side)) != 0; };
        const auto take = [&](Zone zone, int side) { now_in |= zone_bit(zone, side); };
        const bool fighter = kind.role == Role::kHero || kind.role == Role::kInfantry;
        const bool guard = kind.role == Role::kInfantry || kind.role == Role::kSentry;
        const int own = r.team, enemy = 1 - r.team;
        if (r.weak == 0) {
            if (lies(Zone::kBase, own)) take(Zone::kBase, own);
            if (lies(Zone::kSupply, own)) take(Zone::kSupply, own);
            if (lies(Zone::kOutpost, own) && outpost_up(own)) take(Zone::kOutpost, own);
        } else if (r.weak == 2) {
            // after a bought revival time alone ends it
        } else if (lies(Zone::kBase, own) || lies(Zone::kSupply, own) ||
                   (lies(Zone::kOutpost, own) && outpost_up(own))) {
            // a touched card ends the weakness and shortens what is left of invulnerability
            r.weak = 0;
            r.invulnerable_end =
                std::min(r.invulnerable_end,
                         std::max(now() + 1, r.revived_at + ticks(rule.revive_invulnerable_min_s)));
        }
        if (r.weak == 0) {
            if (lies(Zone::kOutpost, enemy) && !outpost_up(enemy) && outpost_up(own) &&
                now() < ticks(rule.outpost_rebuild_deadline_s)) {
                take(Zone::kOutpost, enemy);
            }
            if (kind.assembly_pct != 0) {
                if (lies(Zone::kAssembly, own)) take(Zone::kAssembly, own);
                if (lies(Zone::kResource, own)) take(Zone::kResource, own);
                if (lies(Zone::kWorkbench, own)) take(Zone::kWorkbench, own);
            }
            if (lies(Zone::kHighland, 0) && kind.role != Role::kEngineer) take(Zone::kHighland, 0);
            for (int side = 0; side < kTeams; ++side) {
                if (!lies(Zone::kHighground, side)) continue;
                if (rules_->is_2027() ? side == own : fighter) take(Zone::kHighground, side);
            }
            if (guard) {
                if (lies(Zone::kFortress, own) && team(own).outpost_destroyed > 0) {
                    take(Zone::kFortress, own);
                }
                if (lies(Zone::kFortress, enemy) && now() >= ticks(rule.fortress_enemy_from_s) &&
                    !outpost_up(enemy)) {
                    take(Zone::kFortress, enemy);
                }
            }
            const Word release = now() + ticks(rule.occupy_release_s);
            if ((now_in & zone_bit(Zone::kHighland, 0)) != 0) r.hold_end[kHoldHighland] = release;
            if ((now_in & (zone_bit(Zone::kHighground, 0) | zone_bit(Zone::kHighground, 1))) != 0) {
                r.hold_end[kHoldHighground] = release;
            }
            if ((now_in & zone_bit(Zone::kFortress, own)) != 0) r.hold_end[kHoldFortress] = release;
        }
    }
    r.zones = now_in;
    for (Word changed = before ^ now_in; changed != 0; changed &= changed - 1) {
        Word bit = 0;
        while ((changed >> bit & 1) == 0) ++bit;
        tell((now_in >> bit & 1) != 0 ? EventType::k_zone_enter : EventType::k_zone_leave,
             {id_of(i), bit}, Word{1} << r.team);
    }
}

void Sim::crossed(int i, Crossing kind, bool middle) {
    Robot& r = robot(i);
    const Settings& rule = s();
    const auto bit = Word{1} << static_cast<Word>(kind);
    if ((r.terrain_known & bit) == 0) {
        r.terrain_known |= bit;
        gain(i, rule.exp_terrain * 10);
    }
    const Word source = static_cast<Word>(kind) + 1;
    const auto ground = [](Word of) {
        return of != 0 && of != static_cast<Word>(Crossing::kTunnel) + 1;
    };
    const auto protect = [&](Wide pct, Wide seconds, bool repeats, Name name) {
        Word value = static_cast<Word>(pct * 10);
        Word end = now() + 1 + ticks(seconds);
        for (std::size_t b = 0; repeats && b < r.buff_source.size(); ++b) {
            // by any of them: the lock of the road outlasts its own buff
            if (ground(r.buff_source[b]) && r.buff_kind[b] == 1) {
                value = static_cast<Word>(rule.crossing_repeat_def_pct * 10);
                end = std::max(end, r.buff_end[b]);
            }
        }
        add_buff(r, source, 1, value, end);
        tell(EventType::k_crossing, {id_of(i), static_cast<Word>(name)});
    };
    switch (kind) {
        case Crossing::kRoad:
            if (now() < r.road_lock_end) return;
            r.road_lock_end = now() + ticks(rule.crossing_road_lock_s);
            protect(rule.crossing_road_def_pct, rule.crossing_road_buff_s, true, Name::k_road);
            break;
        case Crossing::kHighland:
            protect(rule.crossing_highland_def_pct, rule.crossing_highland_buff_s, true,
                    Name::k_highland);
            break;
        case Crossing::kFly:
            protect(rule.crossing_fly_def_pct, rule.crossing_fly_buff_s, true, Name::k_fly);
            break;
        case Crossing::kTunnel:
            protect(rule.crossing_tunnel_def_pct, rule.crossing_tunnel_buff_s, false,
                    Name::k_tunnel);
            if (middle) {
                add_buff(r, source, 2, static_cast<Word>(rule.tunnel_cooling_pct),
                         now() + 1 + ticks(rule.tunnel_cooling_s));
                tell(EventType::k_crossing, {id_of(i), static_cast<Word>(Name::k_tunnel_passage)});
            }
            break;
    }
}

void Sim::cross(int i) {
    Robot& r = robot(i);
    const Settings& rule = s();
    const int number = field().card_at(cell_of(r));
    const Word before = r.card;
    r.card = number;
    if (number == 0 || number == before) return;
    const Card& card = *field().card(number);
    const Wide seconds = card.kind == Crossing::kRoad       ? rule.crossing_road_s
                         : card.kind == Crossing::kHighland ? rule.crossing_highland_s
                         : card.kind == Crossing::kFly      ? rule.crossing_fly_s
                                                            : rule.crossing_tunnel_s;
    const bool same = r.cross_group == card.group && now() - r.cross_start <= ticks(seconds);
    const bool tunnel = card.kind == Crossing::kTunnel;
    if (tunnel && card.order == 1) {
        if (same) {
            r.cross_middle = 1;
        } else {
            r.cross_group = 0;
        }
        return;
    }
    const bool finishes = same && (tunnel ? card.order != r.cross_order : card.order == 1);
    if (finishes && !(tunnel && rule.tunnel_needs_middle != 0 && r.cross_middle == 0)) {
        const bool middle = r.cross_middle != 0;
        r.cross_group = 0;
        crossed(i, card.kind, middle);
        return;
    }
    // the first card of an attempt; anything else ends one
    if (tunnel || card.order == 0) {
        r.cross_group = card.group;
        r.cross_order = card.order;
        r.cross_middle = 0;
        r.cross_start = now();
    } else {
        r.cross_group = 0;
    }
}

void Sim::highland() {
    MatchState& match = state_.match;
    std::array<bool, kTeams> inside{}, holds{};
    for (int i = 0; i < count(); ++i) {
        const auto t = static_cast<std::size_t>(robot(i).team);
        inside[t] |= in_zone(i, Zone::kHighland, 0);
        holds[t] |= robot(i).hold_end[kHoldHighland] > now();
    }
    if (match.highland_control >= 0 && !holds[static_cast<std::size_t>(match.highland_control)]) {
        match.highland_control = -1;
    }
    if (match.highland_control < 0 && inside[0] != inside[1]) {
        match.highland_control = inside[0] ? 0 : 1;
    }
}

void Sim::highground() {
    MatchState& match = state_.match;
    for (std::size_t side = 0; side < kTeams; ++side) {
        std::array<bool, kTeams> inside{};
        for (int i = 0; i < count(); ++i) {
            inside[static_cast<std::size_t>(robot(i).team)] |=
                in_zone(i, Zone::kHighground, static_cast<int>(side));
        }
        Word& control = match.highground_control[side];
        if (control >= 0) {
            bool holds = false;
            for (int i = 0; i < count(); ++i) {
                holds |= robot(i).team == control && robot(i).hold_end[kHoldHighground] > now();
            }
            if (!holds) control = -1;
        }
        const Word alone = inside[0] == inside[1] ? -1 : inside[0] ? 0 : 1;
        if (alone < 0 || alone != match.highground_rival[side]) match.highground_ticks[side] = 0;
        match.highground_rival[side] = alone;
        if (alone < 0 || control >= 0) continue;
        if (++match.highground_ticks[side] >= ticks(s().highground_capture_s)) control = alone;
    }
}

// The fortress of team t: one own holder, and an enemy's hold that opens the base armour.
void Sim::fortress(int t) {
    TeamState& side = team(t);
    const Settings& rule = s();
    const int old = find(t, side.fortress_holder);
    if (side.fortress_holder != 0 &&
        (old < 0 || robot(old).alive == 0 || robot(old).hold_end[kHoldFortress] <= now())) {
        if (old >= 0) robot(old).reserve = robot(old).reserve_size = 0;
        side.fortress_holder = 0;
    }
    for (int i = 0; i < count() && side.fortress_holder == 0; ++i) {
        if (robot(i).team == t && in_zone(i, Zone::kFortress, t)) {
            side.fortress_holder = robot(i).slot;
        }
    }
    if (const int holder = find(t, side.fortress_holder); holder >= 0) {
        const Wide loss = std::max<Wide>(0, rule.base_hp - side.base_lowest);
        const Wide size =
            std::min(rule.fortress_reserve_max,
                     rule.fortress_reserve_base +
                         rule.fortress_reserve_step * (loss / rule.fortress_reserve_div));
        Robot& r = robot(holder);
        if (size != r.reserve_size) r.reserve = r.reserve_size = static_cast<Word>(size);
    }
    Word enemy = 0;
    for (int i = 0; i < count() && enemy == 0; ++i) {
        if (robot(i).team != t && in_zone(i, Zone::kFortress, t)) enemy = robot(i).slot;
    }
    side.fortress_enemy = enemy;
    if (enemy != 0) {
        side.fortress_away = 0;
        ++side.fortress_progress;
        if (side.fortress_progress % kTicksPerSecond == 0) {
            tell(EventType::k_fortress_progress,
                 {team_id(t), event_id(1 - t, enemy), side.fortress_progress / kTicksPerSecond});
        }
        if (side.fortress_progress >= ticks(rule.fortress_hold_s)) open_base(t);
    } else if (side.fortress_progress > 0 && ++side.fortress_away >= ticks(rule.fortress_grace_s)) {
        side.fortress_progress = side.fortress_away = 0;
    }
}

void Sim::heal(int i) {
    Robot& r = robot(i);
    const Settings& rule = s();
    if (r.alive == 0 || !in_zone(i, Zone::kSupply, r.team) || r.hp >= r.max_hp) {
        r.heal_micro = 0;
        return;
    }
    const bool late = now() >= ticks(rule.supply_heal_late_from_s) && out_of_combat(r);
    const Wide pct = late ? rule.supply_heal_late_pct_s : rule.supply_heal_pct_s;
    const Wide micro = r.heal_micro + Wide{r.max_hp} * pct * 10000 / kTicksPerSecond;
    r.hp = static_cast<Word>(std::min<Wide>(r.max_hp, r.hp + micro / 1000000));
    r.heal_micro = static_cast<Word>(micro % 1000000);
}

void Sim::rebuild(int t) {
    TeamState& side = team(t);
    const Settings& rule = s();
    const Wide chances = side.base_lost / std::max<Wide>(rule.outpost_rebuild_per_base_loss, 1);
    bool own = false, enemy = false, engineer = false;
    for (int i = 0; i < count(); ++i) {
        const Robot& r = robot(i);
        if (r.alive == 0 || model(i).flyer || r.weak == 1) continue;
        if ((field().zones(cell_of(r)) & zone_bit(Zone::kOutpost, t)) == 0) continue;
        if (r.team == t) {
            own = true;
            engineer |= model(i).assembly_pct != 0;
        } else {
            enemy = true;
        }
    }
    const bool may = side.outpost_hp <= 0 && chances > side.outpost_rebuilds &&
                     now() < ticks(rule.outpost_rebuild_deadline_s) && own;
    if (!may) {
        side.outpost_clock = 0;
        return;
    }
    if (enemy) return;
    ++side.outpost_clock;
    if (side.outpost_clock <
        ticks(engineer ? rule.outpost_rebuild_engineer_s : rule.outpost_rebuild_s)) {
        return;
    }
    side.outpost_clock = 0;
    ++side.outpost_rebuilds;
    side.outpost_hp = static_cast<Word>(rule.outpost_rebuild_hp);
    tell(EventType::k_outpost_rebuilt, {team_id(t)});
}

void Sim::assembly_done(int i) {
    Robot& r = robot(i);
    TeamState& side = team(r.team);
    const Settings& rule = s();
    const auto at = static_cast<std::size_t>(r.task_level - 1);
    r.carrying = 0;
    if (r.task_repeat != 0) {
        side.tech_repeated |= Word{1} << r.task_level;
        side.tech_income += static_cast<Word>(rule.tech_repeat_income[at]);
    } else {
        side.tech_level = std::max(side.tech_level, r.task_level);
        side.tech_income += static_cast<Word>(rule.tech_income[at]);
        const auto more = static_cast<Word>(rule.tech_base_hp[at]);
        side.base_max += more;
        side.base_hp += more;
    }
    tell(EventType::k_assembly_done, {id_of(i), r.task_level});
}

// An engineer in its assembly zone, early in the match and not for longer than that time in all.
bool Sim::sheltered(int i) const {
    const Word most = ticks(s().engineer_invulnerable_s);
    return model(i).role == Role::kEngineer && in_zone(i, Zone::kAssembly, robot(i).team) &&
           now() < most && robot(i).safe_ticks < most;
}

void Sim::work(int i) {
    Robot& r = robot(i);
    const Settings& rule = s();
    if (sheltered(i)) ++r.safe_ticks;
    if (r.task == 0) return;
    const Zone place = r.task == 1   ? Zone::kResource
                       : r.task == 2 ? Zone::kAssembly
                                     : Zone::kWorkbench;
    if (r.alive == 0 || !in_zone(i, place, r.team)) {
        if (r.task == 2) {
            r.carrying = 0;
            tell(EventType::k_assembly_fail, {id_of(i), r.task_level}, Word{1} << r.team);
        }
        r.task = r.task_left = 0;
        return;
    }
    if (r.task == 2) {
        if (r.task_limit != 0 && now() >= r.task_limit) {
            r.task = r.task_left = r.carrying = 0;
            tell(EventType::k_assembly_fail, {id_of(i), r.task_level}, Word{1} << r.team);
            return;
        }
        if (length(r.vx, r.vy) > rule.assembly_still_mm_s) {
            const auto at = static_cast<std::size_t>(r.task_level - 1);
            r.task_left = ticks(rule.assembly_s[at]) * model(i).assembly_pct / 100;
            return;
        }
    }
    if (--r.task_left > 0) return;
    const Word task = r.task;
    r.task = r.task_left = 0;
    if (task == 1) {
        r.carrying = 1;
        tell(EventType::k_picked, {id_of(i)}, Word{1} << r.team);
    } else if (task == 2) {
        assembly_done(i);
    } else {
        r.mounted = 1;
        tell(EventType::k_module_mounted, {id_of(i)}, Word{1} << r.team);
    }
}

void Sim::penalty(int i) {
    Robot& r = robot(i);
    const Settings& rule = s();
    if (r.alive == 0 || model(i).flyer) return;
    const Word under = field().zones(cell_of(r));
    const int enemy = 1 - r.team;
    const bool forbidden = (under & zone_bit(Zone::kSupply, enemy)) != 0 ||
                           ((under & zone_bit(Zone::kBase, enemy)) != 0 && outpost_up(enemy));
    const bool lane =
        (under & (zone_bit(Zone::kPenaltyFly, 0) | zone_bit(Zone::kPenaltyFly, 1))) != 0;
    const auto count_up = [&](Word& clock, bool in, Wide first_s) {
        clock = in ? clock + 1 : 0;
        const Word since = clock - ticks(first_s);
        if (!in || since < 0) return;
        const Word loss_from = since - ticks(rule.penalty_warning_s);
        if (since == 0) {
            tell(EventType::k_penalty, {id_of(i), static_cast<Word>(Name::k_warning), 0});
        }
        if (loss_from < 0 || loss_from % kTicksPerSecond != 0 || r.alive == 0) return;
        const Word lost = std::min(r.hp, static_cast<Word>(r.max_hp * rule.penalty_pct / 100));
        r.hp -= lost;
        if (lost > 0) mark_combat(r);
        tell(EventType::k_penalty, {id_of(i), static_cast<Word>(Name::k_loss), lost});
        if (r.hp <= 0) kill(i, -1);
    };
    count_up(r.penalty_zone, forbidden, rule.penalty_zone_s);
    if (r.alive != 0) count_up(r.penalty_fly, lane, rule.penalty_fly_s);
}

void Sim::zones() {
    for (int i = 0; i < count(); ++i) occupy(i);
    for (int i = 0; i < count(); ++i) {
        if (robot(i).alive != 0 && !model(i).flyer) cross(i);
    }
    highland();
    if (!rules_->is_2027()) highground();
    for (int t = 0; t < kTeams; ++t) {
        fortress(t);
        rebuild(t);
    }
    for (int i = 0; i < count(); ++i) {
        heal(i);
        work(i);
        penalty(i);
    }
    for (int i = 0; i < count(); ++i) {
        Robot& r = robot(i);
        if (r.deploy == 0) continue;
        bool held = false;
        for (int side = 0; side < kTeams; ++side) held |= in_zone(i, Zone::kHighground, side);
        if (!held) r.deploy = r.deploy_ticks = 0;
    }
}

}  // namespace sysone::arena
