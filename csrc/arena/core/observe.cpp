// What a strategy is told, as JSON text. Only what its team may know goes in.
#include <algorithm>

#include "arena/core/json.h"
#include "arena/core/sim.h"

namespace sysone::arena {
namespace {

constexpr std::array<const char*, kTeams> kTeamNames = {"red", "blue"};

// Writes the members of an object; commas are put between them.
class Writer {
  public:
    explicit Writer(std::string& out) : out_(out) {}

    std::string& key(const char* name) {
        comma();
        out_ += '"';
        out_ += name;
        out_ += "\":";
        fresh_ = false;
        return out_;
    }
    void comma() {
        if (!fresh_) out_ += ',';
        fresh_ = false;
    }
    void open(char bracket) {
        out_ += bracket;
        fresh_ = true;
    }
    void close(char bracket) {
        out_ += bracket;
        fresh_ = false;
    }
    void object(const char* name) {
        key(name);
        open('{');
    }
    void list(const char* name) {
        key(name);
        open('[');
    }
    void number(const char* name, Wide value) { append_number(key(name), value); }
    void truth(const char* name, bool value) { key(name) += value ? "true" : "false"; }
    void text(const char* name, const char* value) {
        key(name) += '"';
        out_ += value;
        out_ += '"';
    }
    void null(const char* name) { key(name) += "null"; }
    void thousandths(const char* name, Wide value, int least = 1) {
        append_decimal(key(name), value, 3, least);
    }
    void seconds(const char* name, Wide ticks) {
        append_decimal(key(name), std::max<Wide>(ticks, 0) * 100 / kTicksPerSecond, 2, 1);
    }
    void angle(const char* name, Word turns) {
        thousandths(name, microrad_from_turns(turn_between(0, turns)) / 1000);
    }
    std::string& out() { return out_; }

  private:
    std::string& out_;
    bool fresh_ = true;
};

const char* lock_name(Word lock) { return lock == 0 ? "none" : lock == 1 ? "until_zero" : "match"; }

}  // namespace

void Sim::observe(int t, bool compact, int only, std::string& out) {
    see();
    const Settings& rule = s();
    const int enemy = 1 - t;
    const TeamState& side = team(t);
    (void)compact;  // what never changes is added by the caller
    Writer w(out);
    w.open('{');
    w.text("format", "arena-obs-v1");
    w.number("tick", now());
    w.seconds("time", now());
    w.seconds("remaining", state_.match.duration - now());
    w.text("season", rules_->season().c_str());
    w.text("team", kTeamNames[static_cast<std::size_t>(t)]);
    w.text("phase", ended() ? "ended" : "match");
    if (only != 0) w.number("self", only);
    w.object("coins");
    w.number("now", side.coins);
    w.number("total", side.coins_total);
    w.close('}');

    w.object("robots");
    for (int i = 0; i < count(); ++i) {
        const Robot& r = robot(i);
        if (r.team != t) continue;
        const Model& kind = model(i);
        const char key[2] = {static_cast<char>('0' + r.slot), 0};
        w.object(key);
        append_event_id(w.key("id"), id_of(i));
        w.number("slot", r.slot);
        w.number("model", r.model);
        w.text("role", kind.role_name.c_str());
        w.truth("alive", r.alive != 0);
        w.thousandths("x", r.x / 1000);
        w.thousandths("y", r.y / 1000);
        w.thousandths("z", r.z);
        w.thousandths("vx", r.vx);
        w.thousandths("vy", r.vy);
        w.angle("heading", r.yaw);
        w.angle("gimbal_yaw", r.gimbal_yaw);
        w.angle("gimbal_pitch", r.gimbal_pitch);
        w.number("hp", r.hp);
        w.number("max_hp", r.max_hp);
        w.number("level", r.level);
        w.thousandths("exp", Wide{r.exp} * 100, 0);
        w.thousandths("heat", r.heat, 0);
        w.number("heat_limit", kind.calibre == 0 ? 0 : table(kind.heat, i));
        w.thousandths("cooling", kind.calibre == 0 ? 0 : cooling_of(i), 0);
        w.text("locked", lock_name(r.lock));
        w.number("ammo_17", r.ammo_17);
        w.number("ammo_42", r.ammo_42);
        w.number("reserve", r.reserve);
        w.thousandths("power_limit", r.power_limit, 0);
        w.thousandths("buffer", r.buffer, 0);
        w.thousandths("energy", r.energy, 0);
        w.truth("out_of_combat", out_of_combat(r));
        w.truth("weak", r.weak != 0);
        w.seconds("invulnerable", r.invulnerable_end - now());
        w.object("revive");
        w.seconds("progress", r.revive_progress);
        w.seconds("required", r.revive_required);
        w.close('}');
        w.list("buffs");
        for (std::size_t b = 0; b < r.buff_source.size(); ++b) {
            if (r.buff_source[b] == 0) continue;
            constexpr std::array kSources = {"", "road", "highland", "fly", "tunnel"};
            w.comma();
            w.open('{');
            w.text("kind", r.buff_kind[b] == 1 ? "defence" : "cooling");
            w.thousandths("value", r.buff_kind[b] == 1 ? r.buff_value[b] : r.buff_value[b] * 10);
            w.seconds("left", r.buff_end[b] - now());
            w.text("source", kSources[static_cast<std::size_t>(r.buff_source[b])]);
            w.close('}');
        }
        w.close(']');
        w.list("zones");
        for (Word bit = 0; bit <= 18; ++bit) {
            if ((r.zones >> bit & 1) == 0) continue;
            w.comma();
            append_zone(out, bit);
        }
        w.close(']');
        w.truth("carrying", r.carrying != 0);
        w.truth("mounted", r.mounted != 0);
        w.truth("deploy", r.deploy != 0);
        if (kind.role == Role::kSentry) {
            constexpr std::array kPostures = {"move", "attack", "defence"};
            w.text("posture", kPostures[static_cast<std::size_t>(r.posture)]);
        } else {
            w.null("posture");
        }
        w.truth("strong", r.strong != 0);
        const bool deploying = r.deploy != 0 && r.deploy_ticks < ticks(rule.deploy_setup_s);
        if (r.task == 0 && !deploying) {
            w.null("task");
        } else {
            constexpr std::array kTasks = {"deploy", "pick", "assemble", "mount"};
            w.object("task");
            w.text("kind", kTasks[static_cast<std::size_t>(r.task)]);
            w.seconds("left",
                      r.task != 0 ? r.task_left : ticks(rule.deploy_setup_s) - r.deploy_ticks);
            w.close('}');
        }
        w.truth("stuck", r.stuck != 0);
        if (r.last_error == 0) {
            w.null("last_error");
        } else {
            w.text("last_error", text_of(static_cast<Name>(r.last_error)));
        }
        w.close('}');
    }
    w.close('}');

    w.list("enemies");
    for (int i = 0; i < count(); ++i) {
        const Robot& r = robot(i);
        if (r.team == t) continue;
        const auto slot = static_cast<std::size_t>(r.slot);
        const bool sight = r.seen_by != 0;
        const bool marked = side.radar_progress[slot] >= rule.radar_marked;
        const bool reported = side.report_seen[slot] >= 0;
        if (!sight && !marked && !reported) continue;
        w.comma();
        w.open('{');
        append_event_id(w.key("id"), id_of(i));
        w.number("slot", r.slot);
        w.number("model", r.model);
        w.text("role", model(i).role_name.c_str());
        w.text("seen", sight ? "sight" : marked ? "radar" : "recon");
        const Word x = sight ? r.x : marked ? side.radar_x[slot] : side.report_x[slot];
        const Word y = sight ? r.y : marked ? side.radar_y[slot] : side.report_y[slot];
        w.thousandths("x", x / 1000);
        w.thousandths("y", y / 1000);
        w.thousandths("z", sight ? r.z : field().ground(field().cell(x, y, t)));
        w.thousandths("vx", sight ? r.vx : 0);
        w.thousandths("vy", sight ? r.vy : 0);
        w.angle("heading", sight ? r.yaw : 0);
        const Word hp = sight || marked ? r.hp : side.report_hp[slot];
        w.number("hp", hp);
        w.truth("alive", sight || marked ? r.alive != 0 : hp > 0);
        w.seconds("age", sight || marked ? 0 : now() - side.report_seen[slot]);
        w.list("by");
        for (int by = 1; by < kSlots; ++by) {
            if ((r.seen_by >> by & 1) == 0) continue;
            w.comma();
            out += '"';
            append_number(out, by);
            out += '"';
        }
        w.close(']');
        w.close('}');
    }
    w.close(']');

    w.object("buildings");
    for (const int owner : {t, enemy}) {
        const TeamState& owned = team(owner);
        w.object(owner == t ? "own" : "enemy");
        w.object("base");
        w.number("hp", owned.base_hp);
        w.number("shield", owned.base_shield);
        w.truth("armour_open", owned.base_open != 0);
        w.close('}');
        w.object("outpost");
        w.number("hp", owned.outpost_hp);
        w.truth("alive", owned.outpost_hp > 0);
        w.truth("spinning", owned.outpost_rate != 0);
        w.number("rebuilds",
                 owned.base_lost / std::max<Wide>(rule.outpost_rebuild_per_base_loss, 1) -
                     owned.outpost_rebuilds);
        w.close('}');
        w.close('}');
    }
    w.close('}');

    const auto controller = [](Word team_of) {
        return team_of < 0 ? "none" : kTeamNames[static_cast<std::size_t>(team_of)];
    };
    w.object("zones");
    w.text("central_highland", controller(state_.match.highland_control));
    if (!rules_->is_2027()) {
        w.text("red:highground", controller(state_.match.highground_control[0]));
        w.text("blue:highground", controller(state_.match.highground_control[1]));
    }
    for (int owner = 0; owner < kTeams; ++owner) {
        const TeamState& owned = team(owner);
        w.object(owner == 0 ? "red:fortress" : "blue:fortress");
        const Word holder = owned.fortress_holder != 0  ? event_id(owner, owned.fortress_holder)
                            : owned.fortress_enemy != 0 ? event_id(1 - owner, owned.fortress_enemy)
                                                        : kNobody;
        append_event_id(w.key("holder"), holder);
        w.seconds("progress", owned.fortress_progress);
        w.close('}');
    }
    w.close('}');

    w.object("rune");
    w.number("small", side.rune_small);
    w.number("large", side.rune_large);
    if (side.rune_active == 0) {
        w.null("active");
    } else {
        w.object("active");
        w.text("kind", side.rune_active == 1 ? "small" : "large");
        w.seconds("left", side.rune_end - now());
        w.number("hits", side.rune_hits);
        w.list("lit");
        for (int arm = 0; arm < 5; ++arm) {
            if ((side.rune_lit >> arm & 1) == 0) continue;
            w.comma();
            append_number(out, arm);
        }
        w.close(']');
        append_event_id(w.key("by"), event_id(t, side.rune_by));
        w.close('}');
    }
    if (side.rune_buff == 0) {
        w.null("buff");
    } else {
        w.object("buff");
        w.text("kind", side.rune_buff == 1 ? "small" : "large");
        w.thousandths("attack", side.rune_attack);
        w.thousandths("defence", side.rune_defence);
        w.thousandths("cooling", Wide{side.rune_cooling} * 10);
        w.seconds("left", side.rune_buff_end - now());
        w.close('}');
    }
    w.close('}');

    w.object("dart");
    w.number("left", side.dart_left);
    w.number("chances", side.dart_chances);
    constexpr std::array kGates = {"closed", "opening", "window"};
    w.text("gate", kGates[static_cast<std::size_t>(side.dart_gate)]);
    w.close('}');

    w.object("radar");
    w.object("progress");
    for (int i = 0; i < count(); ++i) {
        if (robot(i).team == t || model(i).flyer) continue;
        const char key[2] = {static_cast<char>('0' + robot(i).slot), 0};
        w.number(key, side.radar_progress[static_cast<std::size_t>(robot(i).slot)]);
    }
    w.close('}');
    w.list("marked");
    for (int i = 0; i < count(); ++i) {
        if (robot(i).team == t ||
            side.radar_progress[static_cast<std::size_t>(robot(i).slot)] < rule.radar_marked) {
            continue;
        }
        w.comma();
        append_event_id(out, id_of(i));
    }
    w.close(']');
    w.number("doubles", side.radar_doubles);
    w.close('}');

    w.object("tech");
    w.number("level", side.tech_level);
    w.number("income", side.tech_income);
    const auto next = static_cast<std::size_t>(side.tech_level);
    w.seconds("next_at", next < rule.assembly_unlock_s.size() ? ticks(rule.assembly_unlock_s[next])
                                                              : state_.match.duration);
    if (rules_->is_2027()) w.truth("module_unlocked", side.module_unlocked != 0);
    w.close('}');

    int aerial_robot = -1;
    for (int i = 0; i < count(); ++i) {
        if (robot(i).team == t && model(i).flyer) aerial_robot = i;
    }
    if (aerial_robot < 0) {
        w.null("aerial");
    } else if (const Robot& r = robot(aerial_robot); model(aerial_robot).drones == 0) {
        w.object("aerial");
        w.seconds("support_left", r.support_left);
        w.truth("supporting", r.supporting != 0);
        w.truth("paid", r.support == 2);
        w.seconds("locked", r.support_lock_end - now());
        w.number("counters_suffered", r.counters_suffered);
        w.close('}');
    } else {
        w.object("aerial");
        w.list("drones");
        constexpr std::array kStates = {"ready", "out", "charging", "lost"};
        for (std::size_t d = 0; d < static_cast<std::size_t>(model(aerial_robot).drones); ++d) {
            w.comma();
            w.open('{');
            w.text("state", kStates[static_cast<std::size_t>(side.drone_state[d])]);
            const Word until = side.drone_state[d] == 1 ? side.sortie_end : side.drone_until[d];
            w.seconds("left", side.drone_state[d] == 0 ? 0 : until - now());
            w.close('}');
        }
        w.close(']');
        if (side.sortie_drone < 0) {
            w.null("sortie");
        } else {
            constexpr std::array kModes = {"", "recon", "strike", "intercept"};
            w.object("sortie");
            w.text("mode", kModes[static_cast<std::size_t>(side.sortie_mode)]);
            w.number("drone", side.sortie_drone);
            w.list("to");
            append_decimal(out, side.sortie_x / 1000, 3, 1);
            out += ',';
            append_decimal(out, side.sortie_y / 1000, 3, 1);
            w.close(']');
            w.seconds("left", side.sortie_end - now());
            w.close('}');
        }
        w.close('}');
    }

    w.list("messages");
    for (const Message& message : messages_[t]) {
        if (only != 0 && (message.to >> only & 1) == 0) continue;
        w.comma();
        w.open('{');
        std::string& from = w.key("from");
        if (message.from == 0) {
            from += "\"team\"";
        } else {
            from += '"';
            append_number(from, message.from);
            from += '"';
        }
        w.number("tick", message.tick);
        append_json_text(w.key("text"), message.text);
        w.close('}');
    }
    w.close(']');

    w.list("events");
    for (const Event& event : recent_) {
        if ((event.teams >> t & 1) == 0 || event.tick < now() - 2) continue;
        w.comma();
        append_event(out, event);
    }
    w.close(']');

    w.object("enemy_roster");
    for (int i = 0; i < count(); ++i) {
        if (robot(i).team == t) continue;
        const char key[2] = {static_cast<char>('0' + robot(i).slot), 0};
        w.number(key, robot(i).model);
    }
    w.close('}');
    w.list("errors");
    for (const ActionError& error : errors_[t]) {
        if (only != 0 && error.slot != only) continue;
        w.comma();
        w.open('{');
        w.text("code", error.code.c_str());
        append_json_text(w.key("path"), error.path);
        w.number("tick", now() - 2);
        w.close('}');
    }
    w.close(']');
    w.close('}');
}

}  // namespace sysone::arena
