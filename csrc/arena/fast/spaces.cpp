#include "arena/fast/spaces.h"

#include <algorithm>
#include <cmath>

#include "arena/fast/places.h"

namespace sysone::arena {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr Word kMuch17 = 50, kMuch42 = 5, kLittle17 = 10, kLittle42 = 1;

float unit(double value) { return static_cast<float>(std::clamp(value, -1.0, 1.0)); }
float flag(bool on) { return on ? 1.0f : 0.0f; }

// Writes the columns of a row one after the other.
class Row {
  public:
    explicit Row(float* at) : at_(at) {}
    void put(double value) { *at_++ = unit(value); }
    void put(bool on) { *at_++ = flag(on); }
    void role(Role role) {
        for (int r = 0; r < 5; ++r) put(static_cast<int>(role) == r);
    }
    // sin and cos of an angle as the side sees it
    void angle(Word turns, int team) {
        const double radians = 2 * kPi * turns / kTurn + (team == 0 ? 0 : kPi);
        put(std::cos(radians));
        put(std::sin(radians));
    }

  private:
    float* at_;
};

double share(double value, double of) { return of <= 0 ? 0 : value / of; }

}  // namespace

Spaces::Spaces(std::shared_ptr<const Rules> rules, const Lineups& lineups, int rows)
    : rules_(std::move(rules)), rows_(rows) {
    for (std::size_t t = 0; t < kTeams; ++t) {
        row_of_[t].fill(-1);
        auto entries = lineups.sides[t];
        std::sort(entries.begin(), entries.end(),
                  [](const LineupEntry& a, const LineupEntry& b) { return a.slot < b.slot; });
        for (const LineupEntry& entry : entries) {
            row_of_[t][static_cast<std::size_t>(entry.slot)] = static_cast<int>(slots_[t].size());
            slots_[t].push_back(entry.slot);
            models_[t].push_back(rules_->model(entry.model));
        }
        slots_[t].resize(static_cast<std::size_t>(rows_), 0);
        models_[t].resize(static_cast<std::size_t>(rows_), nullptr);
    }
}

void Spaces::observe(Sim& sim, int t, Navigator& navigator, const SideArrays& into) const {
    sim.look();
    const State& state = sim.state();
    const Settings& rule = rules_->settings();
    const Field& field = rules_->field();
    const auto side = static_cast<std::size_t>(t);
    const TeamState& team = state.teams[side];
    const double turn = t == 0 ? 1 : -1;
    const double width = field.width_um() / 1e6, height = field.height_um() / 1e6;
    const auto across = [&](Word um) { return t == 0 ? um / 1e6 : width - um / 1e6; };
    const auto along = [&](Word um) { return t == 0 ? um / 1e6 : height - um / 1e6; };
    const auto rows = static_cast<std::size_t>(rows_);
    std::fill_n(into.own, rows * kOwnColumns, 0.0f);
    std::fill_n(into.mates, rows * kMateColumns, 0.0f);
    std::fill_n(into.enemies, rows * kEnemyColumns, 0.0f);
    std::fill_n(into.globals, kGlobalColumns, 0.0f);
    int marks = 0;
    const Model* aerial = nullptr;
    const RobotState* flyer = nullptr;
    for (std::size_t i = 0; i < state.robots.size(); ++i) {
        const RobotState& r = state.robots[i];
        const Model& model = sim.model_of(static_cast<int>(i));
        const auto slot = static_cast<std::size_t>(r.slot);
        const auto at = static_cast<std::size_t>(row_of_[static_cast<std::size_t>(r.team)][slot]);
        if (r.team != t) {
            const bool sight = r.seen_by != 0;
            const bool marked = team.radar_progress[slot] >= rule.radar_marked;
            const bool reported = team.report_seen[slot] >= 0;
            if (marked) ++marks;
            float* columns = into.enemies + at * kEnemyColumns;
            Row(columns + 11).role(model.role);
            if (!sight && !marked && !reported) continue;
            const Word x = sight ? r.x : marked ? team.radar_x[slot] : team.report_x[slot];
            const Word y = sight ? r.y : marked ? team.radar_y[slot] : team.report_y[slot];
            const Word hp = sight || marked ? r.hp : team.report_hp[slot];
            Row row(columns);
            row.put(true);
            row.put(sight);
            row.put(!sight && marked);
            row.put(sight || marked ? r.alive != 0 : hp > 0);
            row.put(across(x) / width);
            row.put(along(y) / height);
            row.put((sight ? r.z : field.ground(field.cell(x, y, t))) / 1000.0);
            row.put(sight ? turn * r.vx / 5000.0 : 0);
            row.put(sight ? turn * r.vy / 5000.0 : 0);
            row.put(hp / 600.0);
            row.put((sight || marked ? 0 : state.tick - team.report_seen[slot]) / 200.0);
            continue;
        }
        if (model.flyer) {
            aerial = &model;
            flyer = &r;
        }
        const double heat_limit = sim.heat_limit(static_cast<int>(i));
        const double heat = share(r.heat / 1000.0, heat_limit);
        const bool weak = r.weak != 0, hard = state.tick < r.invulnerable_end;
        Row own(into.own + at * kOwnColumns);
        own.put(r.alive != 0);
        own.put(across(r.x) / width);
        own.put(along(r.y) / height);
        own.put(r.z / 1000.0);
        own.put(turn * r.vx / 5000.0);
        own.put(turn * r.vy / 5000.0);
        own.angle(r.yaw, t);
        own.angle(r.gimbal_yaw, t);
        own.put(4.0 * turn_between(0, r.gimbal_pitch) / kTurn);
        own.put(share(r.hp, r.max_hp));
        own.put(r.max_hp / 600.0);
        own.put(heat);
        own.put(heat_limit / 300.0);
        own.put(r.ammo_17 / 500.0);
        own.put(r.ammo_42 / 50.0);
        own.put(r.reserve / 500.0);
        own.put(r.buffer / 60000.0);
        own.put(r.energy / 40e6);
        own.put(r.power_limit / 200e3);
        own.put(r.level / 10.0);
        own.put(weak);
        own.put(hard);
        own.put(state.tick >= r.combat_end);
        own.put(r.lock != 0);
        own.put(r.carrying != 0);
        own.put(r.mounted != 0);
        own.put(r.deploy != 0);
        own.put(r.stuck != 0);
        own.put(share(r.revive_progress, r.revive_required));
        own.role(model.role);
        for (const Zone zone : {Zone::kBase, Zone::kSupply, Zone::kOutpost}) {
            own.put((r.zones & zone_bit(zone, t)) != 0);
        }
        own.put((r.zones & zone_bit(Zone::kHighland, 0)) != 0);
        const Metres here = position(r);
        for (const Metres red : kGoals) {
            Metres way;
            if (!model.flyer && r.alive != 0) {
                const Metres goal = place(field, red, t, r.slot);
                way = navigator.steer(navigator.costs(model, goal), here, goal);
            }
            own.put(turn * way.x);
            own.put(turn * way.y);
        }
        Row mate(into.mates + at * kMateColumns);
        mate.put(true);
        mate.put(r.alive != 0);
        mate.put(across(r.x) / width);
        mate.put(along(r.y) / height);
        mate.put(turn * r.vx / 5000.0);
        mate.put(turn * r.vy / 5000.0);
        mate.angle(r.gimbal_yaw, t);
        mate.put(share(r.hp, r.max_hp));
        mate.put(r.max_hp / 600.0);
        mate.put(heat);
        mate.put(r.ammo_17 / 500.0);
        mate.put(r.ammo_42 / 50.0);
        mate.put(r.level / 10.0);
        mate.put(weak);
        mate.put(hard);
        mate.put(r.carrying != 0);
        mate.put(r.mounted != 0);
        mate.put(r.stuck != 0);
        mate.role(model.role);
    }
    Row row(into.globals);
    row.put(state.tick / (420.0 * kTicksPerSecond));
    row.put((state.match.duration - state.tick) / (420.0 * kTicksPerSecond));
    row.put(team.coins / 1000.0);
    row.put(team.coins_total / 5000.0);
    for (const int owner : {t, 1 - t}) {
        const TeamState& owned = state.teams[static_cast<std::size_t>(owner)];
        row.put(share(owned.base_hp, static_cast<double>(rule.base_hp)));
        row.put(share(owned.base_shield, static_cast<double>(rule.base_shield)));
        row.put(owned.base_open != 0);
        row.put(share(owned.outpost_hp, static_cast<double>(rule.outpost_hp)));
        row.put(owned.outpost_hp > 0);
        row.put(owned.outpost_rate != 0);
        const Wide chances =
            owned.base_lost / std::max<Wide>(rule.outpost_rebuild_per_base_loss, 1) -
            owned.outpost_rebuilds;
        row.put(static_cast<double>(chances) / 5);
    }
    row.put(state.match.highland_control == t);
    row.put(state.match.highland_control == 1 - t);
    for (const int owner : {t, 1 - t}) {
        const TeamState& owned = state.teams[static_cast<std::size_t>(owner)];
        row.put(owned.fortress_holder != 0);
        row.put(owned.fortress_holder == 0 && owned.fortress_enemy != 0);
        row.put(owned.fortress_progress / (20.0 * kTicksPerSecond));
    }
    row.put(team.rune_small / 2.0);
    row.put(team.rune_large / 3.0);
    row.put(team.rune_active != 0);
    row.put(team.rune_buff != 0);
    row.put(team.dart_left / 4.0);
    row.put(team.dart_chances / 2.0);
    row.put(team.dart_gate != 0);
    row.put(team.radar_doubles / 2.0);
    row.put(marks / 5.0);
    row.put(team.tech_level / 4.0);
    row.put(rules_->is_2027() && team.module_unlocked != 0);
    row.put(rules_->is_2027());
    int ready = 0;
    if (aerial != nullptr) {
        for (int d = 0; d < aerial->drones; ++d) {
            ready += team.drone_state[static_cast<std::size_t>(d)] == 0;
        }
    }
    row.put(ready / 4.0);
    row.put(flyer != nullptr && aerial->drones == 0 && flyer->supporting != 0);
}

bool Spaces::can(int t, int row, Order order) const {
    const Model* model = kind(t, row);
    if (model == nullptr) return false;
    switch (order) {
        case Order::kNone:
            return true;
        case Order::kBuyMuch:
        case Order::kBuyLittle:
            return model->calibre != 0;
        case Order::kRemoteAmmo:
            return model->calibre != 0 && !model->flyer;
        case Order::kRemoteHeal:
            return !model->flyer && model->role != Role::kEngineer;
        case Order::kRevive:
            return !model->flyer;
        case Order::kPostureMove:
        case Order::kPostureAttack:
        case Order::kPostureDefence:
            return model->role == Role::kSentry;
        case Order::kRune:
            return !model->flyer && model->calibre != 0;
        case Order::kPick:
        case Order::kAssemble:
            return model->assembly_pct != 0;
        case Order::kMount:
            return model->needs_module;
        case Order::kDeploy:
        case Order::kUndeploy:
            return model->deploys;
        case Order::kAerial:
            return model->flyer && (model->drones == 0 || model->recon || model->strikes);
    }
    return false;
}

void Spaces::give(int t, int row, Order order, RobotAction& action) const {
    if (!can(t, row, order)) return;
    const Model& model = *kind(t, row);
    switch (order) {
        case Order::kNone:
            break;
        case Order::kBuyMuch:
        case Order::kBuyLittle: {
            const bool much = order == Order::kBuyMuch;
            action.buy = model.calibre == 17 ? Buy::kAmmo17 : Buy::kAmmo42;
            action.buy_amount =
                model.calibre == 17 ? (much ? kMuch17 : kLittle17) : (much ? kMuch42 : kLittle42);
            break;
        }
        case Order::kRemoteAmmo:
            action.buy = Buy::kRemoteAmmo;
            break;
        case Order::kRemoteHeal:
            action.buy = Buy::kRemoteHeal;
            break;
        case Order::kRevive:
            action.revive = Revive::kBuy;
            break;
        case Order::kPostureMove:
            action.posture = 0;
            break;
        case Order::kPostureAttack:
            action.posture = 1;
            break;
        case Order::kPostureDefence:
            action.posture = 2;
            break;
        case Order::kRune:
            action.rune = true;
            break;
        case Order::kPick:
            action.pick = true;
            break;
        case Order::kAssemble:
            action.assemble = true;
            break;
        case Order::kMount:
            action.mount = true;
            break;
        case Order::kDeploy:
            action.deploy = 1;
            break;
        case Order::kUndeploy:
            action.deploy = 0;
            break;
        case Order::kAerial:
            if (model.drones == 0) {
                action.support = Support::kOwn;
            } else if (model.strikes) {
                action.sortie = Sortie::kStrike;
                action.sortie_target = 0;
            } else {
                const Metres goal = place(rules_->field(), {20.0, 7.5}, t);
                action.sortie = Sortie::kRecon;
                action.sortie_x = static_cast<Word>(std::lround(goal.x * 1e6));
                action.sortie_y = static_cast<Word>(std::lround(goal.y * 1e6));
            }
            break;
    }
}

void Spaces::steer(Sim& sim, int t, const std::int32_t* go, Navigator& navigator,
                   SideAction& action) const {
    for (std::size_t i = 0; i < sim.state().robots.size(); ++i) {
        const RobotState& r = sim.state().robots[i];
        const Model& model = sim.model_of(static_cast<int>(i));
        if (r.team != t || model.flyer) continue;
        const auto slot = static_cast<std::size_t>(r.slot);
        const Word goal = go[row_of_[static_cast<std::size_t>(t)][slot]];
        if (goal < 1 || goal > static_cast<Word>(kGoals.size())) continue;
        const Metres at =
            place(rules_->field(), kGoals[static_cast<std::size_t>(goal - 1)], t, r.slot);
        const Metres way = navigator.steer(navigator.costs(model, at), position(r), at);
        action.robots[slot].move_x = static_cast<Word>(std::lround(way.x * 1000));
        action.robots[slot].move_y = static_cast<Word>(std::lround(way.y * 1000));
    }
}

SideAction Spaces::read(int t, const SideWishes& wishes) const {
    const auto thousandths = [](float value) {
        if (!std::isfinite(value)) return Word{0};
        return static_cast<Word>(std::lround(std::clamp(value, -1.0f, 1.0f) * 1000.0));
    };
    const Word turn = t == 0 ? 1 : -1;
    SideAction whole;
    for (int row = 0; row < rows_; ++row) {
        const Model* model = kind(t, row);
        if (model == nullptr) continue;
        const auto at = static_cast<std::size_t>(row);
        RobotAction& action =
            whole.robots[static_cast<std::size_t>(slots_[static_cast<std::size_t>(t)][at])];
        action.controlled = true;
        action.by_team = true;
        action.move_x = turn * thousandths(wishes.move[2 * at]);
        action.move_y = turn * thousandths(wishes.move[2 * at + 1]);
        action.spin = thousandths(wishes.spin[at]);
        if (wishes.fire[at] != 0 && model->calibre != 0) action.fire = Fire::kAimed;
        const Word aim = wishes.aim[at];
        if (aim >= 1 && aim <= rows_) {
            const auto enemy = static_cast<std::size_t>(1 - t);
            if (models_[enemy][static_cast<std::size_t>(aim - 1)] != nullptr) {
                action.aim = Aim::kRobot;
                action.aim_at[0] = slots_[enemy][static_cast<std::size_t>(aim - 1)];
            }
        } else if (aim == rows_ + 1) {
            action.aim = Aim::kBase;
        } else if (aim == rows_ + 2) {
            action.aim = Aim::kOutpost;
        } else if (aim == rows_ + 3) {
            action.aim = Aim::kRune;
        }
        const Word order = wishes.order[at];
        if (order > 0 && order < kOrders) give(t, row, static_cast<Order>(order), action);
    }
    return whole;
}

}  // namespace sysone::arena
