// Scenarios: a changed start, for tests and training.
#include <algorithm>

#include "arena/core/json.h"
#include "arena/core/sim.h"

namespace sysone::arena {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr int kMostDepth = 8;
constexpr std::array<std::string_view, kTeams> kTeamNames = {"red", "blue"};

struct Problem {
    ScenarioError error;
};

[[noreturn]] void stop(const char* code, std::string path, std::string message) {
    throw Problem{{code, std::move(path), std::move(message)}};
}

Wide micro(const Json& value, const std::string& path, Wide low, Wide high) {
    if (!value.is(Json::Kind::kNumber)) stop("wrong_type", path, "must be a number");
    if (value.beyond || value.micro < low || value.micro > high) {
        stop("out_of_range", path,
             "must be from " + std::to_string(low / 1000000) + " to " +
                 std::to_string(high / 1000000));
    }
    return value.micro;
}

Wide whole(const Json& value, const std::string& path, Wide low, Wide high) {
    const Wide found = micro(value, path, low * 1000000, high * 1000000);
    if (!value.whole) stop("wrong_type", path, "must be a whole number");
    return found / 1000000;
}

const Json& object(const Json& value, const std::string& path) {
    if (!value.is(Json::Kind::kObject)) stop("not_object", path, "must be an object");
    return value;
}

int team_named(std::string_view name) {
    for (int t = 0; t < kTeams; ++t) {
        if (kTeamNames[static_cast<std::size_t>(t)] == name) return t;
    }
    return -1;
}

}  // namespace

std::optional<ScenarioError> Sim::apply_scenario(std::string_view text) {
    const Settings& rule = s();
    const auto robot_named = [this](const std::string& id, const std::string& path) {
        const std::size_t dash = id.find('-');
        const int t = dash == std::string::npos ? -1 : team_named(id.substr(0, dash));
        const std::string number = dash == std::string::npos ? "" : id.substr(dash + 1);
        const int slot =
            number.size() == 1 && number[0] >= '1' && number[0] <= '7' ? number[0] - '0' : -1;
        const int i = t < 0 ? -1 : find(t, slot);
        if (i < 0) stop("unknown_robot", path, "no robot of this match is named " + id);
        return i;
    };
    const auto place = [&](int i, const Json& given, const std::string& path) {
        Robot& r = robot(i);
        const Model& kind = model(i);
        const Json* x = given.find("x");
        const Json* y = given.find("y");
        if ((x == nullptr) != (y == nullptr)) {
            stop("wrong_type", path, "x and y are given together");
        }
        if (x != nullptr) {
            const Wide px = micro(*x, path + ".x", 0, Wide{1} << 40);
            const Wide py = micro(*y, path + ".y", 0, Wide{1} << 40);
            const bool inside = field().inside(px, py) &&
                                field().inside(field().width_um() - px, field().height_um() - py);
            if (!inside) stop("position_blocked", path, "lies outside the field");
            const int cell = field().cell(static_cast<Word>(px), static_cast<Word>(py), r.team);
            if (!kind.flyer && field().blocked(kind.blocked, cell)) {
                stop("position_blocked", path, "is not free for this body");
            }
            r.x = static_cast<Word>(px);
            r.y = static_cast<Word>(py);
            if (!kind.flyer) r.z = field().ground(cell);
        }
        bool hp_given = false;
        for (const auto& [key, value] : given.members) {
            const std::string at = path + "." + key;
            if (key == "x" || key == "y") continue;
            if (key == "heading") {
                const Wide angle = micro(value, at, -Wide{1} << 50, Wide{1} << 50);
                r.yaw = r.gimbal_yaw = r.wanted_yaw = wrap(turns_from_microrad(angle));
            } else if (key == "ammo" || key == "ammo_17" || key == "ammo_42") {
                const Word calibre = key == "ammo" ? kind.calibre : key == "ammo_17" ? 17 : 42;
                if (calibre == 0 || calibre != kind.calibre) {
                    stop("role_mismatch", at, "this robot has no such launcher");
                }
                (calibre == 42 ? r.ammo_42 : r.ammo_17) =
                    static_cast<Word>(whole(value, at, 0, 100000));
            } else if (key == "hp") {
                hp_given = true;
            } else if (key == "level") {
                const Wide level = whole(value, at, 1, static_cast<Wide>(rule.exp_levels.size()));
                if (!kind.gains) {
                    if (level != 1) stop("role_mismatch", at, "this robot gains no levels");
                    continue;
                }
                r.level = static_cast<Word>(level);
                r.exp =
                    static_cast<Word>(rule.exp_levels[static_cast<std::size_t>(level - 1)] * 10);
            } else if (key == "energy") {
                r.energy = static_cast<Word>(
                    micro(value, at, 0, rule.chassis_energy_max_j * 1000000) / 1000);
            } else if (key == "heat") {
                if (kind.calibre == 0) stop("role_mismatch", at, "this robot has no launcher");
                r.heat = static_cast<Word>(micro(value, at, 0, Wide{100000} * 1000000) / 1000);
            } else {
                stop("unknown_field", at, "is no field of a robot");
            }
        }
        r.max_hp = table(kind.hp, i);
        r.hp = r.max_hp;
        if (hp_given) {
            if (kind.flyer) stop("role_mismatch", path + ".hp", "this robot has no hit points");
            r.hp = static_cast<Word>(whole(*given.find("hp"), path + ".hp", 1, r.max_hp));
        }
        refresh_power(i);
    };
    const auto buildings = [&](int t, const Json& given, const std::string& path) {
        TeamState& side = team(t);
        for (const auto& [key, value] : given.members) {
            const std::string at = path + "." + key;
            if (key == "outpost_hp") {
                side.outpost_hp = static_cast<Word>(whole(value, at, 0, rule.outpost_hp));
                if (side.outpost_hp == 0) side.outpost_destroyed = 1;
            } else if (key == "base_hp") {
                side.base_hp = static_cast<Word>(whole(value, at, 1, rule.base_hp));
                side.base_lowest = std::min(side.base_lowest, side.base_hp);
                base_maybe_opens(t);
            } else {
                stop("unknown_field", at, "is no field of a team's buildings");
            }
        }
    };
    const auto set_time = [&](const Json& value) {
        const Wide at = micro(value, "time", 0, Wide{duration_} * 1000000 / kTicksPerSecond);
        const auto tick = static_cast<Word>(at * kTicksPerSecond / 1000000);
        if (at * kTicksPerSecond % 1000000 != 0 || tick % 2 != 0 || tick >= duration_) {
            stop("out_of_range", "time", "must be a multiple of 0.1 before the end of the match");
        }
        state_.tick = tick;
        for (int t = 0; t < kTeams; ++t) {
            TeamState& side = team(t);
            const auto fell = [tick](const std::vector<Wide>& times) {
                return static_cast<Word>(std::count_if(times.begin(), times.end(),
                                                       [tick](Wide s) { return ticks(s) < tick; }));
            };
            if (tick <= ticks(rule.rune_small_expire_s)) {
                side.rune_small = fell(rule.rune_small_at_s);
            }
            side.rune_large = fell(rule.rune_large_at_s);
            side.dart_chances = fell(rule.dart_open_at_s);
        }
        const Word minutes = tick == 0 ? 0 : (tick - 1) / ticks(60);
        for (int i = 0; i < count(); ++i) {
            if (model(i).role == Role::kSentry) {
                robot(i).minutes = std::min(minutes, static_cast<Word>(rule.sentry_minutes));
            }
            if (model(i).flyer && model(i).calibre != 0) {
                robot(i).support_left += minutes * ticks(rule.support_per_min_s);
            }
            robot(i).shot_tick = tick - ticks(rule.duration_s);
        }
    };
    const auto remove = [&](const Json& list) {
        if (!list.is(Json::Kind::kList)) stop("wrong_type", "remove", "must be a list of ids");
        std::vector<int> gone;
        for (const Json& id : list.items) {
            if (!id.is(Json::Kind::kText)) stop("wrong_type", "remove", "must be a list of ids");
            gone.push_back(robot_named(id.text, "remove"));
        }
        std::sort(gone.begin(), gone.end());
        gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
        for (auto i = gone.rbegin(); i != gone.rend(); ++i) {
            const Robot& r = robot(*i);
            const auto t = static_cast<std::size_t>(r.team),
                       slot = static_cast<std::size_t>(r.slot);
            rosters_[t].own[slot] = nullptr;
            rosters_[1 - t].enemy[slot] = nullptr;
            if (r.team == 0) --reds_;
            state_.robots.erase(state_.robots.begin() + *i);
            models_.erase(models_.begin() + *i);
        }
        for (auto& slots : by_slot_) slots.fill(-1);
        for (int i = 0; i < count(); ++i) {
            by_slot_[static_cast<std::size_t>(robot(i).team)]
                    [static_cast<std::size_t>(robot(i).slot)] = i;
        }
    };
    try {
        Json root;
        const JsonError error = parse_json(text, kMostBytes, kMostDepth, root);
        if (!error.code.empty()) stop(error.code.c_str(), "", "the scenario is not JSON");
        object(root, "");
        for (const auto& [key, value] : root.members) {
            if (key == "time") {
                set_time(value);
            } else if (key == "robots") {
                for (const auto& [id, given] : object(value, key).members) {
                    const std::string path = "robots." + id;
                    place(robot_named(id, path), object(given, path), path);
                }
            } else if (key == "buildings") {
                for (const auto& [name, given] : object(value, key).members) {
                    const std::string path = "buildings." + name;
                    if (team_named(name) < 0) stop("unknown_field", path, "must be red or blue");
                    buildings(team_named(name), object(given, path), path);
                }
            } else if (key == "coins") {
                for (const auto& [name, given] : object(value, key).members) {
                    const std::string path = "coins." + name;
                    if (team_named(name) < 0) stop("unknown_field", path, "must be red or blue");
                    TeamState& side = team(team_named(name));
                    side.coins = side.coins_total =
                        static_cast<Word>(whole(given, path, 0, 1000000));
                }
            } else if (key != "remove") {
                stop("unknown_field", key, "is no field of a scenario");
            }
        }
        if (const Json* list = root.find("remove")) remove(*list);
    } catch (const Problem& problem) {
        return problem.error;
    }
    return std::nullopt;
}

}  // namespace sysone::arena
