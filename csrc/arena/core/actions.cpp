#include "arena/core/actions.h"

#include <algorithm>
#include <charconv>

#include "arena/core/json.h"

namespace sysone::arena {
namespace {

constexpr std::array<std::string_view, 2> kTeamNames = {"red", "blue"};

class ActionReader {
  public:
    ActionReader(const Rules& rules, const Roster& roster, int slot)
        : rules_(rules), roster_(roster), only_(slot) {}

    std::optional<ActionError> read(std::string_view text, SideAction& into) {
        Json root;
        const JsonError error = parse_json(text, kMostActionBytes, kMostActionDepth, root);
        if (!error.code.empty()) return ActionError{error.code, "", 0};
        if (!root.is(Json::Kind::kObject)) return ActionError{"not_object", "", 0};
        for (const auto& [key, value] : root.members) {
            path_ = key;
            if (!member(key, value, into)) return error_;
        }
        if (into.team.sentry && !merge_sentry(into)) return error_;
        return std::nullopt;
    }

  private:
    bool fail(const char* code, std::string_view below = {}) {
        error_ = ActionError{code, path_, only_};
        if (!below.empty()) error_->path += (error_->path.empty() ? "" : ".") + std::string(below);
        return false;
    }

    bool member(const std::string& key, const Json& value, SideAction& into) {
        if (key == "team") {
            if (only_ != 0) return fail("robot_not_controlled");
            return team_action(value, into.team);
        }
        int slot = 0;
        if (!is_slot(key, slot)) {
            // an id is no slot number; that of an enemy says more
            const std::string enemy = std::string(kTeamNames[1u - team()]) + "-";
            return fail(key.rfind(enemy, 0) == 0 ? "not_own_robot" : "unknown_robot");
        }
        const Model* model = slot < kSlots ? roster_.own[index(slot)] : nullptr;
        if (model == nullptr) return fail("not_own_robot");
        if (only_ != 0 && slot != only_) return fail("robot_not_controlled");
        RobotAction& action = into.robots[index(slot)];
        action.controlled = true;
        action.by_team = only_ == 0;
        return robot_action(value, *model, slot, action);
    }

    static bool is_slot(const std::string& key, int& slot) {
        if (key.empty() || key.size() > 3 || (key.size() > 1 && key[0] == '0')) return false;
        const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), slot);
        return problem == std::errc() && end == key.data() + key.size() && slot >= 0;
    }
    static std::size_t index(int slot) { return static_cast<std::size_t>(slot); }
    std::size_t team() const { return static_cast<std::size_t>(roster_.team); }

    // values --------------------------------------------------------------------------------

    bool number(const Json& value, std::string_view at, Wide low, Wide high, Wide& micro) {
        if (value.is(Json::Kind::kNotFinite)) return fail("not_finite", at);
        if (!value.is(Json::Kind::kNumber)) return fail("wrong_type", at);
        if (value.beyond || value.micro < low || value.micro > high) {
            return fail("out_of_range", at);
        }
        micro = value.micro;
        return true;
    }
    bool whole(const Json& value, std::string_view at, Wide low, Wide high, Word& into) {
        Wide micro = 0;
        if (value.is(Json::Kind::kNumber) && !value.whole) return fail("wrong_type", at);
        if (!number(value, at, low * 1000000, high * 1000000, micro)) return false;
        into = static_cast<Word>(micro / 1000000);
        return true;
    }
    bool share(const Json& value, std::string_view at, Word& into) {
        Wide micro = 0;
        if (!number(value, at, -1000000, 1000000, micro)) return false;
        into = static_cast<Word>((micro < 0 ? micro - 500 : micro + 500) / 1000);
        return true;
    }
    // Any finite number of radians; the limit keeps the conversion exact.
    bool angle(const Json& value, std::string_view at, Word& into) {
        Wide micro = 0;
        if (!number(value, at, -kMostAngle, kMostAngle, micro)) return false;
        into = wrap(turns_from_microrad(micro));
        return true;
    }
    bool truth(const Json& value, std::string_view at, bool& into) {
        if (!value.is(Json::Kind::kBool)) return fail("wrong_type", at);
        into = value.truth;
        return true;
    }
    bool word(const Json& value, std::string_view at, std::initializer_list<const char*> words,
              Word& into) {
        if (!value.is(Json::Kind::kText)) return fail("wrong_type", at);
        Word i = 0;
        for (const char* candidate : words) {
            if (value.text == candidate) {
                into = i;
                return true;
            }
            ++i;
        }
        return fail("out_of_range", at);
    }
    bool pair(const Json& value, std::string_view at, Wide low_x, Wide high_x, Wide low_y,
              Wide high_y, Wide& x, Wide& y) {
        if (!value.is(Json::Kind::kList)) return fail("wrong_type", at);
        if (value.items.size() != 2) return fail("out_of_range", at);
        return number(value.items[0], at, low_x, high_x, x) &&
               number(value.items[1], at, low_y, high_y, y);
    }

    // robots --------------------------------------------------------------------------------

    bool robot_action(const Json& value, const Model& model, int slot, RobotAction& action) {
        if (!value.is(Json::Kind::kObject)) return fail("not_object");
        const std::string robot = path_;
        for (const auto& [key, item] : value.members) {
            path_ = robot;
            if (!robot_field(key, item, model, slot, action)) return false;
        }
        path_ = robot;
        return true;
    }

    bool robot_field(const std::string& key, const Json& item, const Model& model, int slot,
                     RobotAction& action) {
        Word chosen = 0;
        if (key == "move") {
            if (!item.is(Json::Kind::kList)) return fail("wrong_type", key);
            if (item.items.size() != 2) return fail("out_of_range", key);
            return share(item.items[0], key, action.move_x) &&
                   share(item.items[1], key, action.move_y);
        }
        if (key == "frame") {
            if (!word(item, key, {"field", "body"}, chosen)) return false;
            action.move_body = chosen == 1;
            return true;
        }
        if (key == "heading") return angle(item, key, action.heading);
        if (key == "spin") return share(item, key, action.spin);
        if (key == "follow") return truth(item, key, action.follow);
        if (key == "aim") return aim(item, action);
        if (key == "fire") {
            if (item.is(Json::Kind::kText)) {
                if (item.text != "free") return fail("out_of_range", key);
                action.fire = Fire::kFree;
                return shooter(model, key);
            }
            bool on = false;
            if (!truth(item, key, on)) return false;
            action.fire = on ? Fire::kAimed : Fire::kNo;
            return !on || shooter(model, key);
        }
        if (key == "fire_guard") return truth(item, key, action.guard);
        if (key == "power") {
            if (!word(item, key, {"safe", "boost", "raw"}, chosen)) return false;
            action.limiter = static_cast<Limiter>(chosen);
            return true;
        }
        if (key == "buy") return buy(item, model, action);
        if (key == "revive") return revive(item, action);
        if (key == "posture") {
            if (model.role != Role::kSentry) return fail("role_mismatch", key);
            return word(item, key, {"move", "attack", "defence"}, action.posture);
        }
        bool on = false;
        if (key == "strong") {
            if (model.role != Role::kSentry) return fail("role_mismatch", key);
            if (!truth(item, key, on)) return false;
            action.strong = on ? 1 : 0;
            return true;
        }
        if (key == "deploy") {
            if (!model.deploys) return fail("role_mismatch", key);
            if (!truth(item, key, on)) return false;
            action.deploy = on ? 1 : 0;
            return true;
        }
        if (key == "rune") {
            if (model.flyer || model.calibre == 0) return fail("role_mismatch", key);
            action.rune = true;
            return word(item, key, {"activate"}, chosen);
        }
        if (key == "pick" || key == "assemble") {
            if (model.assembly_pct == 0) return fail("role_mismatch", key);
            return truth(item, key, key == "pick" ? action.pick : action.assemble);
        }
        if (key == "mount") {
            if (!model.needs_module) return fail("role_mismatch", key);
            return truth(item, key, action.mount);
        }
        if (key == "support") return support(item, model, action);
        if (key == "sortie") return sortie(item, model, action);
        if (key == "say") return say(item, slot, action.say);
        return fail("unknown_field", key);
    }

    bool shooter(const Model& model, std::string_view at) {
        return model.calibre != 0 || fail("role_mismatch", at);
    }

    bool only_members(const Json& item, std::string_view at,
                      std::initializer_list<const char*> names) {
        if (!item.is(Json::Kind::kObject)) return fail("wrong_type", at);
        for (const auto& member : item.members) {
            const bool known = std::any_of(names.begin(), names.end(),
                                           [&](const char* name) { return member.key == name; });
            if (!known) return fail("unknown_field", std::string(at) + "." + member.key);
        }
        return true;
    }

    bool aim(const Json& item, RobotAction& action) {
        if (!only_members(item, "aim", {"target", "point", "yaw", "pitch"})) return false;
        const Json* target = item.find("target");
        const Json* point = item.find("point");
        const Json* yaw = item.find("yaw");
        const Json* pitch = item.find("pitch");
        const int kinds =
            (target != nullptr) + (point != nullptr) + (yaw != nullptr || pitch != nullptr);
        if (kinds != 1) return fail(kinds == 0 ? "out_of_range" : "duplicate_order", "aim");
        if (target != nullptr) return aim_target(*target, action);
        if (point != nullptr) {
            if (!point->is(Json::Kind::kList)) return fail("wrong_type", "aim.point");
            if (point->items.size() != 3) return fail("out_of_range", "aim.point");
            action.aim = Aim::kPoint;
            for (std::size_t i = 0; i < 3; ++i) {
                Wide micro = 0;
                if (!number(point->items[i], "aim.point", -kMostPoint, kMostPoint, micro)) {
                    return false;
                }
                action.aim_at[i] = static_cast<Word>(micro);
            }
            return true;
        }
        action.aim = Aim::kAngles;
        Word level = 0;
        if (yaw == nullptr) return fail("out_of_range", "aim.yaw");
        if (!angle(*yaw, "aim.yaw", action.aim_at[0])) return false;
        if (pitch != nullptr && !angle(*pitch, "aim.pitch", level)) return false;
        action.aim_at[1] = turn_between(0, level);
        return true;
    }

    bool aim_target(const Json& target, RobotAction& action) {
        if (!target.is(Json::Kind::kText)) return fail("wrong_type", "aim.target");
        if (target.text == "base" || target.text == "outpost" || target.text == "rune") {
            action.aim = target.text == "base"      ? Aim::kBase
                         : target.text == "outpost" ? Aim::kOutpost
                                                    : Aim::kRune;
            return true;
        }
        const std::string enemy = std::string(kTeamNames[1u - team()]) + "-";
        int slot = 0;
        if (target.text.rfind(enemy, 0) != 0 || !is_slot(target.text.substr(enemy.size()), slot) ||
            slot >= kSlots || roster_.enemy[index(slot)] == nullptr) {
            return fail("out_of_range", "aim.target");
        }
        action.aim = Aim::kRobot;
        action.aim_at[0] = slot;
        return true;
    }

    bool buy(const Json& item, const Model& model, RobotAction& action) {
        if (!item.is(Json::Kind::kObject)) return fail("wrong_type", "buy");
        if (item.members.size() != 1) {
            return fail(item.members.empty() ? "out_of_range" : "duplicate_order", "buy");
        }
        const auto& [kind, value] = item.members.front();
        const std::string at = "buy." + kind;
        const Settings& s = rules_.settings();
        bool on = true;
        if (kind == "ammo_17") {
            if (model.calibre != 17) return fail("role_mismatch", at);
            if (!whole(value, at, s.ammo_17_lot, 100000, action.buy_amount)) return false;
            if (action.buy_amount % s.ammo_17_lot != 0) return fail("out_of_range", at);
            action.buy = Buy::kAmmo17;
            return true;
        }
        if (kind == "ammo_42") {
            if (model.calibre != 42) return fail("role_mismatch", at);
            action.buy = Buy::kAmmo42;
            return whole(value, at, 1, 100000, action.buy_amount);
        }
        Buy order = Buy::kNothing;
        if (kind == "remote_ammo") {
            if (model.calibre == 0 || model.flyer) return fail("role_mismatch", at);
            order = Buy::kRemoteAmmo;
        } else if (kind == "remote_heal") {
            if (model.flyer || model.role == Role::kEngineer) return fail("role_mismatch", at);
            order = Buy::kRemoteHeal;
        } else if (kind == "sentry_minute") {
            if (model.role != Role::kSentry) return fail("role_mismatch", at);
            order = Buy::kSentryMinute;
        } else {
            return fail("unknown_field", at);
        }
        if (!truth(value, at, on)) return false;
        if (on) action.buy = order;
        return true;
    }

    bool revive(const Json& item, RobotAction& action) {
        if (item.is(Json::Kind::kBool)) {
            action.revive = item.truth ? Revive::kYes : Revive::kNo;
            return true;
        }
        Word chosen = 0;
        if (!word(item, "revive", {"buy"}, chosen)) return false;
        action.revive = Revive::kBuy;
        return true;
    }

    bool support(const Json& item, const Model& model, RobotAction& action) {
        if (!model.flyer || model.calibre == 0) return fail("role_mismatch", "support");
        if (item.is(Json::Kind::kBool)) {
            action.support = item.truth ? Support::kOwn : Support::kOff;
            return true;
        }
        Word chosen = 0;
        if (!word(item, "support", {"paid"}, chosen)) return false;
        action.support = Support::kPaid;
        return true;
    }

    bool sortie(const Json& item, const Model& model, RobotAction& action) {
        if (model.drones == 0) return fail("role_mismatch", "sortie");
        if (!only_members(item, "sortie", {"mode", "to", "target"})) return false;
        const Json* mode = item.find("mode");
        const Json* to = item.find("to");
        const Json* target = item.find("target");
        if (mode == nullptr) return fail("out_of_range", "sortie.mode");
        Word chosen = 0;
        if (!word(*mode, "sortie.mode", {"recon", "strike", "intercept"}, chosen)) return false;
        action.sortie = static_cast<Sortie>(chosen + 1);
        const bool strikes = action.sortie == Sortie::kStrike;
        if (strikes ? !model.strikes : !model.recon) return fail("role_mismatch", "sortie.mode");
        if (strikes) {
            if (to != nullptr) return fail("unknown_field", "sortie.to");
            if (target == nullptr) return fail("out_of_range", "sortie.target");
            return word(*target, "sortie.target", {"outpost", "base"}, action.sortie_target);
        }
        if (target != nullptr) return fail("unknown_field", "sortie.target");
        if (to == nullptr) return fail("out_of_range", "sortie.to");
        Wide x = 0, y = 0;
        if (!pair(*to, "sortie.to", 0, rules_.field().width_um() - 1, 0,
                  rules_.field().height_um() - 1, x, y)) {
            return false;
        }
        action.sortie_x = static_cast<Word>(x);
        action.sortie_y = static_cast<Word>(y);
        return true;
    }

    bool say(const Json& item, int slot, std::optional<Message>& into) {
        if (!only_members(item, "say", {"to", "text"})) return false;
        const Json* to = item.find("to");
        const Json* text = item.find("text");
        if (text == nullptr || !text->is(Json::Kind::kText)) return fail("wrong_type", "say.text");
        if (static_cast<Wide>(text->text.size()) > rules_.settings().message_bytes) {
            return fail("message_too_long", "say.text");
        }
        Message message;
        message.from = slot;
        message.text = text->text;
        if (!receivers(to, message.to)) return false;
        if (roster_.messages_left[index(slot)] <= 0) return fail("too_many_messages", "say");
        into = std::move(message);
        return true;
    }

    bool receivers(const Json* to, Word& bits) {
        if (to == nullptr) return fail("wrong_type", "say.to");
        if (to->is(Json::Kind::kText)) {
            if (to->text != "team") return fail("cross_team_message", "say.to");
            for (int slot = 1; slot < kSlots; ++slot) {
                if (roster_.own[index(slot)] != nullptr) bits |= 1 << slot;
            }
            return true;
        }
        if (!to->is(Json::Kind::kList)) return fail("wrong_type", "say.to");
        for (const Json& item : to->items) {
            if (item.is(Json::Kind::kText)) return fail("cross_team_message", "say.to");
            Word slot = 0;
            if (!whole(item, "say.to", 0, 100, slot)) return false;
            if (slot >= kSlots || roster_.own[index(slot)] == nullptr) {
                return fail("not_own_robot", "say.to");
            }
            bits |= 1 << slot;
        }
        return true;
    }

    // the team ------------------------------------------------------------------------------

    bool team_action(const Json& value, TeamAction& action) {
        if (!value.is(Json::Kind::kObject)) return fail("not_object");
        for (const auto& [key, item] : value.members) {
            if (key == "dart") {
                if (!dart(item, action)) return false;
            } else if (key == "radar") {
                if (!radar(item, action)) return false;
            } else if (key == "sentry") {
                if (!sentry(item, action)) return false;
            } else if (key == "say") {
                if (!say(item, 0, action.say)) return false;
            } else {
                return fail("unknown_field", key);
            }
        }
        return true;
    }

    bool dart(const Json& item, TeamAction& action) {
        if (!only_members(item, "dart", {"open", "target"})) return false;
        const Json* open = item.find("open");
        const Json* target = item.find("target");
        bool on = false;
        if (open == nullptr) return fail("wrong_type", "dart.open");
        if (!truth(*open, "dart.open", on)) return false;
        Word chosen = 0;
        if (target == nullptr) return fail("wrong_type", "dart.target");
        if (!word(*target, "dart.target",
                  {"outpost", "base_fixed", "base_random_fixed", "base_random_moving",
                   "base_end_moving"},
                  chosen)) {
            return false;
        }
        if (on) action.dart_target = chosen;
        return true;
    }

    bool radar(const Json& item, TeamAction& action) {
        if (!only_members(item, "radar", {"focus", "double", "counter"})) return false;
        if (const Json* on = item.find("double");
            on != nullptr && !truth(*on, "radar.double", action.radar_double)) {
            return false;
        }
        if (const Json* on = item.find("counter"); on != nullptr) {
            if (roster_.second) return fail("role_mismatch", "radar.counter");
            if (!truth(*on, "radar.counter", action.radar_counter)) return false;
        }
        const Json* focus = item.find("focus");
        if (focus == nullptr) return true;
        if (!focus->is(Json::Kind::kList)) return fail("wrong_type", "radar.focus");
        if (static_cast<Wide>(focus->items.size()) > rules_.settings().radar_focus_max) {
            return fail("out_of_range", "radar.focus");
        }
        action.focus_given = true;
        for (const Json& entry : focus->items) {
            Word slot = 0;
            if (!whole(entry, "radar.focus", 0, 100, slot)) return false;
            if (slot >= kSlots || roster_.enemy[index(slot)] == nullptr) {
                return fail("out_of_range", "radar.focus");
            }
            action.focus |= 1 << slot;
        }
        return true;
    }

    bool sentry(const Json& item, TeamAction& action) {
        if (!only_members(item, "sentry", {"buy", "revive", "posture", "strong"})) return false;
        int slot = 0;
        while (slot < kSlots && (roster_.own[index(slot)] == nullptr ||
                                 roster_.own[index(slot)]->role != Role::kSentry)) {
            ++slot;
        }
        if (slot == kSlots) return fail("role_mismatch", "sentry");
        action.sentry.emplace();
        action.sentry->by_team = true;
        const std::string team = path_;
        path_ = team + ".sentry";
        for (const auto& [key, value] : item.members) {
            if (!robot_field(key, value, *roster_.own[index(slot)], slot, *action.sentry)) {
                return false;
            }
        }
        path_ = team;
        return true;
    }

    // An order given both under the sentry's own key and by the team is given twice.
    bool merge_sentry(SideAction& into) {
        int slot = 0;
        while (roster_.own[index(slot)] == nullptr ||
               roster_.own[index(slot)]->role != Role::kSentry) {
            ++slot;
        }
        RobotAction& own = into.robots[index(slot)];
        const RobotAction& team = *into.team.sentry;
        path_ = "team.sentry";
        if (own.buy != Buy::kNothing && team.buy != Buy::kNothing) {
            return fail("duplicate_order", "buy");
        }
        if (own.revive != Revive::kKeep && team.revive != Revive::kKeep) {
            return fail("duplicate_order", "revive");
        }
        if (own.posture != kKeep && team.posture != kKeep)
            return fail("duplicate_order", "posture");
        if (own.strong != kKeep && team.strong != kKeep) return fail("duplicate_order", "strong");
        own.by_team = true;
        if (team.buy != Buy::kNothing) {
            own.buy = team.buy;
            own.buy_amount = team.buy_amount;
        }
        if (team.revive != Revive::kKeep) own.revive = team.revive;
        if (team.posture != kKeep) own.posture = team.posture;
        if (team.strong != kKeep) own.strong = team.strong;
        return true;
    }

    static constexpr Wide kMostAngle = Wide{1} << 50;  // in millionths of a radian
    static constexpr Wide kMostPoint = 1000000000;     // 1 km in micrometres

    const Rules& rules_;
    const Roster& roster_;
    int only_;
    std::string path_;
    std::optional<ActionError> error_;
};

}  // namespace

std::optional<ActionError> read_action(std::string_view text, const Rules& rules,
                                       const Roster& roster, int slot, SideAction& into) {
    SideAction read;
    auto error = ActionReader(rules, roster, slot).read(text, read);
    if (error) return error;
    if (slot == 0) {
        into = std::move(read);
    } else {
        into.robots[static_cast<std::size_t>(slot)] =
            std::move(read.robots[static_cast<std::size_t>(slot)]);
    }
    return std::nullopt;
}

}  // namespace sysone::arena
