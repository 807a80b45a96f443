// The rules of a season as numbers: settings, models and the field, all read from one JSON text.
#pragma once

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "arena/core/field.h"
#include "arena/core/numbers.h"

namespace sysone::arena {

struct RulesError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

struct Settings {
#define ARENA_SETTING(name) Wide name = 0;
#define ARENA_SETTING_LIST(name) std::vector<Wide> name;
#include "arena/core/settings.def"
#undef ARENA_SETTING
#undef ARENA_SETTING_LIST
};

enum class Role : std::uint8_t { kHero, kEngineer, kInfantry, kAerial, kSentry };
enum class Sees : std::uint8_t { kFront, kWide, kAround };

struct Plate {
    Word yaw = 0;  // to the body
    Word half_width_um = 0;
    Word half_height_um = 0;
};

struct Model {
    Word number = 0;
    Role role = Role::kInfantry;
    std::string role_name;
    Word radius_mm = 0;
    Word mass_kg = 0;
    Word muzzle_mm = 0;
    Word armour_mm = 0;
    Word speed_mm_s = 0;
    Word accel_mm_s2 = 0;
    Word spin_mrad_s = 0;
    Word strafe_pct = 100;
    std::uint32_t passes = 0;  // bits of Need
    bool flyer = false;
    bool legged = false;
    Sees sees = Sees::kFront;
    std::vector<Plate> plates;
    Word calibre = 0;  // 17, 42 or none
    Word muzzle_speed_mm_s = 0;
    bool deploys = false;
    Word assembly_pct = 0;  // 0: does not assemble
    Word drones = 0;
    bool strikes = false;
    bool recon = false;
    bool automatic = false;  // a sentry whose team orders cost coins
    bool gains = false;      // gains experience
    bool by_tech = false;    // its table row is the assembly level
    bool needs_module = false;
    std::vector<Word> hp, power_w, heat, cooling;  // by level

    Word spin_rate = 0;  // derived: units a tick
    int blocked = -1;    // derived: the field's raster for this radius
};

class Rules {
  public:
    explicit Rules(std::string_view json);

    const Settings& settings() const noexcept { return settings_; }
    const Field& field() const noexcept { return field_; }
    const std::vector<Model>& models() const noexcept { return models_; }
    const Model* model(Word number) const noexcept;
    const std::string& season() const noexcept { return season_; }
    bool is_2027() const noexcept { return second_; }

  private:
    std::string season_;
    bool second_ = false;
    Settings settings_;
    std::vector<Model> models_;
    Field field_;
};

}  // namespace sysone::arena
