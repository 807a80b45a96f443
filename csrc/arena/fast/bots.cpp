#include "arena/fast/bots.h"

#include <algorithm>
#include <cmath>

#include "arena/fast/places.h"

namespace sysone::arena {
namespace {

constexpr Metres kRedRefill{3.2, 7.5};
constexpr Metres kEnemyOutpost{16.9, 11.1};
constexpr Metres kEnemyBase{24.54, 7.5};
constexpr Word kRoundsPerLot = 10;
constexpr std::uint32_t kRandomMark = 0x52414E44;  // of the bot's own random stream

struct Side {
    Sim& sim;
    int team;
    Navigator& navigator;

    const State& state() const { return sim.state(); }
    const TeamState& own() const { return state().teams[static_cast<std::size_t>(team)]; }
    const TeamState& enemy() const { return state().teams[static_cast<std::size_t>(1 - team)]; }
    const Field& field() const { return sim.rules().field(); }

    // An order that fills up ammunition where there is an exchange, else nothing.
    void shop(const RobotState& me, const Model& kind, Word coins, Word wanted_17, Word wanted_42,
              RobotAction& action) const {
        const Word exchanges = zone_bit(Zone::kBase, team) | zone_bit(Zone::kSupply, team) |
                               zone_bit(Zone::kOutpost, 0) | zone_bit(Zone::kOutpost, 1);
        if ((me.zones & exchanges) == 0) return;
        if (kind.role == Role::kAerial || kind.role == Role::kSentry) return;
        if (me.last_error == static_cast<Word>(Name::k_cap)) {
            wanted_17 = me.ammo_17 + kRoundsPerLot;  // what is left of it
            wanted_42 = me.ammo_42 + 1;
        }
        if (kind.calibre == 17) {
            if (wanted_17 < me.ammo_17) return;
            const Word lots =
                std::min((wanted_17 - me.ammo_17) / kRoundsPerLot, coins / kRoundsPerLot);
            if (lots <= 0) return;
            action.buy = Buy::kAmmo17;
            action.buy_amount = lots * kRoundsPerLot;
        } else if (kind.calibre == 42) {
            const Word rounds = std::min(wanted_42 - me.ammo_42, coins / 10);
            if (rounds <= 0) return;
            action.buy = Buy::kAmmo42;
            action.buy_amount = rounds;
        }
    }

    void go(const RobotState& me, const Model& kind, Metres goal, RobotAction& action) const {
        const Metres way = navigator.steer(navigator.costs(kind, goal), position(me), goal);
        action.move_x = static_cast<Word>(std::lround(way.x * 1000));
        action.move_y = static_cast<Word>(std::lround(way.y * 1000));
    }

    // Aim at what is near, else at the enemy's buildings, and fire.
    void fight(const RobotState& me, double prefer_m, RobotAction& action) const {
        action.fire = Fire::kAimed;
        const Metres at = position(me);
        const Settings& rule = sim.rules().settings();
        double nearest = 0;
        int slot = 0;
        bool sighted = false;
        for (std::size_t i = 0; i < state().robots.size(); ++i) {
            const RobotState& other = state().robots[i];
            if (other.team == team) continue;
            const auto s = static_cast<std::size_t>(other.slot);
            const bool sight = other.seen_by != 0;
            const bool marked = own().radar_progress[s] >= rule.radar_marked;
            const bool reported = own().report_seen[s] >= 0;
            if (!sight && !marked && !reported) continue;
            const Word hp = sight || marked ? other.hp : own().report_hp[s];
            const bool alive = sight || marked ? other.alive != 0 : hp > 0;
            const Word age = sight || marked ? 0 : state().tick - own().report_seen[s];
            const Role role = sim.model_of(static_cast<int>(i)).role;
            if (!alive || role == Role::kAerial || age > 2 * kTicksPerSecond) continue;
            const Word x = sight ? other.x : marked ? own().radar_x[s] : own().report_x[s];
            const Word y = sight ? other.y : marked ? own().radar_y[s] : own().report_y[s];
            const double far = std::hypot(x / 1000 / 1000.0 - at.x, y / 1000 / 1000.0 - at.y);
            if (slot == 0 || far < nearest) {
                nearest = far;
                slot = other.slot;
                sighted = sight;
            }
        }
        if (slot != 0 && nearest <= prefer_m && sighted) {
            action.aim = Aim::kRobot;
            action.aim_at[0] = slot;
            return;
        }
        const bool stands = enemy().outpost_hp > 0;
        const Metres goal = place(field(), stands ? kEnemyOutpost : kEnemyBase, team);
        if (std::hypot(goal.x - at.x, goal.y - at.y) < 9) {
            action.aim = stands ? Aim::kOutpost : Aim::kBase;
        }
    }
};

void hold(const Side& side, const RobotState& me, const Model& kind, RobotAction& action) {
    if (kind.calibre == 0) return;
    action.fire = Fire::kAimed;
    if (me.ammo_17 < 50 && me.ammo_42 < 5) {
        side.shop(me, kind, side.own().coins, 100, 10, action);
    }
}

void rush(const Side& side, const RobotState& me, const Model& kind, RobotAction& action) {
    if (kind.calibre != 0 && kind.role != Role::kAerial) {
        side.shop(me, kind, side.own().coins / 2, 120, 10, action);
        const bool empty = me.ammo_17 + me.ammo_42 + me.reserve == 0;
        const Word tick = side.state().tick;
        if (tick < 10 && empty) return;
        const bool stands = side.enemy().outpost_hp > 0;
        const bool back = (empty && tick > 40) || me.weak != 0;
        const Metres goal =
            back ? place(side.field(), kRedRefill, side.team)
                 : place(side.field(), stands ? kAttackOutpost : kAttackBase, side.team, me.slot);
        side.go(me, kind, goal, action);
        side.fight(me, 5.0, action);
    } else if (kind.role == Role::kAerial && !side.sim.rules().is_2027()) {
        action.support = Support::kOwn;
        action.fire = Fire::kAimed;
        action.move_x = side.team == 0 ? 1000 : -1000;
    }
}

// New commands every half second, as the bundled random strategy; the draws are others.
RobotAction draw(const Side& side, const RobotState& me, const Model& kind) {
    const MatchState& match = side.state().match;
    const PhiloxBlock dice =
        philox4x32({static_cast<std::uint32_t>(side.state().tick),
                    static_cast<std::uint32_t>(side.team << 8 | me.slot), 0, 0},
                   {static_cast<std::uint32_t>(match.seed_low),
                    static_cast<std::uint32_t>(match.seed_high) ^ kRandomMark});
    const auto below = [](std::uint32_t bits, Word n) {  // of 16 bits
        return static_cast<Word>((bits & 0xFFFF) * static_cast<std::uint32_t>(n) >> 16);
    };
    RobotAction action;
    action.move_x = below(dice[0], 2001) - 1000;
    action.move_y = below(dice[0] >> 16, 2001) - 1000;
    action.spin = below(dice[1], 2001) - 1000;
    if (below(dice[1] >> 16, 3) == 0) action.limiter = Limiter::kBoost;
    if (kind.calibre != 0 && kind.role != Role::kAerial && below(dice[2], 10) < 7) {
        action.fire = Fire::kAimed;
    }
    if (kind.role == Role::kInfantry && below(dice[2] >> 16, 10) == 0) {
        action.buy = Buy::kAmmo17;
        action.buy_amount = kRoundsPerLot * (1 + below(dice[3], 5));
    }
    return action;
}

}  // namespace

SideAction decide(Bot bot, Sim& sim, int team, Navigator& navigator, BotMemory& memory) {
    SideAction whole;
    if (bot == Bot::kNone) return whole;
    sim.look();
    const Side side{sim, team, navigator};
    const auto& robots = sim.state().robots;
    for (std::size_t i = 0; i < robots.size(); ++i) {
        const RobotState& me = robots[i];
        if (me.team != team) continue;
        const Model& kind = sim.model_of(static_cast<int>(i));
        const auto slot = static_cast<std::size_t>(me.slot);
        RobotAction& action = whole.robots[slot];
        if (bot == Bot::kRandom) {
            if (sim.state().tick % 10 == 0) {
                action = draw(side, me, kind);
                memory.commands[slot] = action;
                memory.commands[slot].buy = Buy::kNothing;
            } else {
                action = memory.commands[slot];
            }
        } else if (bot == Bot::kHold) {
            hold(side, me, kind, action);
        } else {
            rush(side, me, kind, action);
        }
        action.controlled = true;
        action.by_team = true;
    }
    return whole;
}

}  // namespace sysone::arena
