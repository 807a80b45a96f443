#include "arena/core/rules.h"

#include "arena/core/json.h"

namespace sysone::arena {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 24;
constexpr int kMostDepth = 16;

const Json& need(const Json& object, const char* key) {
    const Json* found = object.find(key);
    if (found == nullptr) throw RulesError(std::string("the rules lack ") + key);
    return *found;
}

Wide number(const Json& value, const std::string& name) {
    if (!value.is(Json::Kind::kNumber) || !value.whole) {
        throw RulesError(name + " must be a whole number");
    }
    return value.integer();
}

std::vector<Wide> numbers(const Json& value, const std::string& name) {
    if (!value.is(Json::Kind::kList)) return {number(value, name)};
    std::vector<Wide> found;
    for (const Json& item : value.items) found.push_back(number(item, name));
    if (found.empty()) throw RulesError(name + " must not be empty");
    return found;
}

Settings read_settings(const Json& object) {
    Settings settings;
#define ARENA_SETTING(name) settings.name = number(need(object, #name), #name);
#define ARENA_SETTING_LIST(name) settings.name = numbers(need(object, #name), #name);
#include "arena/core/settings.def"
#undef ARENA_SETTING
#undef ARENA_SETTING_LIST
    return settings;
}

Role read_role(const std::string& name) {
    if (name == "hero" || name == "heavy") return Role::kHero;
    if (name == "engineer") return Role::kEngineer;
    if (name == "infantry") return Role::kInfantry;
    if (name == "aerial") return Role::kAerial;
    if (name == "sentry") return Role::kSentry;
    throw RulesError("no role is named " + name);
}

Sees read_sees(const std::string& name) {
    if (name == "front") return Sees::kFront;
    if (name == "wide") return Sees::kWide;
    if (name == "around") return Sees::kAround;
    throw RulesError("no kind of sight is named " + name);
}

Model read_model(const Json& object) {
    const auto word = [&](const char* key) {
        return static_cast<Word>(number(need(object, key), key));
    };
    const auto flag = [&](const char* key) { return need(object, key).truth; };
    const auto words = [&](const char* key) {
        std::vector<Word> found;
        for (const Wide value : numbers(need(object, key), key)) {
            found.push_back(static_cast<Word>(value));
        }
        return found;
    };
    Model model;
    model.number = word("model");
    model.role_name = need(object, "role").text;
    model.role = read_role(model.role_name);
    model.radius_mm = word("radius_mm");
    model.mass_kg = word("mass_kg");
    model.muzzle_mm = word("muzzle_mm");
    model.armour_mm = word("armour_mm");
    model.speed_mm_s = word("speed_mm_s");
    model.accel_mm_s2 = word("accel_mm_s2");
    model.spin_mrad_s = word("spin_mrad_s");
    model.strafe_pct = word("strafe_pct");
    for (const Json& name : need(object, "passes").items) {
        model.passes |= 1u << static_cast<unsigned>(need_from(name.text));
    }
    model.flyer = need(object, "chassis").text == "flyer";
    model.legged = need(object, "chassis").text == "legged";
    model.sees = read_sees(need(object, "sees").text);
    for (const Json& plate : need(object, "plates").items) {
        const Wide yaw_deg = number(need(plate, "yaw_deg"), "yaw_deg");
        model.plates.push_back(
            {wrap(turns_from_mdeg(yaw_deg * 1000)),
             static_cast<Word>(number(need(plate, "width_mm"), "width_mm") * 500),
             static_cast<Word>(number(need(plate, "height_mm"), "height_mm") * 500)});
    }
    model.calibre = word("calibre");
    model.muzzle_speed_mm_s = word("muzzle_speed_mm_s");
    model.deploys = flag("deploys");
    model.assembly_pct = word("assembly_pct");
    model.drones = word("drones");
    model.strikes = flag("strikes");
    model.recon = flag("recon");
    model.automatic = flag("automatic");
    model.gains = flag("gains");
    model.by_tech = flag("by_tech");
    model.needs_module = flag("needs_module");
    model.hp = words("hp");
    model.power_w = words("power_w");
    model.heat = words("heat");
    model.cooling = words("cooling");
    model.spin_rate = static_cast<Word>(rate_from_mrad_s(model.spin_mrad_s));
    return model;
}

}  // namespace

Rules::Rules(std::string_view json) {
    Json root;
    const JsonError error = parse_json(json, kMostBytes, kMostDepth, root);
    if (!error.code.empty() || !root.is(Json::Kind::kObject)) {
        throw RulesError("the rules are not JSON: " + error.code);
    }
    season_ = need(root, "season").text;
    if (season_ != "2026" && season_ != "2027") {
        throw RulesError("season must be one of '2026', '2027', not '" + season_ + "'");
    }
    second_ = season_ == "2027";
    settings_ = read_settings(need(root, "settings"));
    field_ = Field(need(root, "field"), season_);
    for (const Json& item : need(root, "models").items) {
        Model model = read_model(item);
        if (!model.flyer) model.blocked = field_.prepare_radius(model.radius_mm);
        models_.push_back(std::move(model));
    }
}

const Model* Rules::model(Word number) const noexcept {
    for (const Model& model : models_) {
        if (model.number == number) return &model;
    }
    return nullptr;
}

}  // namespace sysone::arena
