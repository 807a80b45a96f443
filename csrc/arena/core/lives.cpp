// Levels, deaths and revivals.
#include <algorithm>

#include "arena/core/sim.h"

namespace sysone::arena {

void Sim::raise_levels(int i) {
    Robot& r = robot(i);
    const Settings& rule = s();
    if (model(i).by_tech) {
        r.level = std::max<Word>(1, team(r.team).tech_level);
    } else if (model(i).gains) {
        const auto tech = static_cast<std::size_t>(team(r.team).tech_level);
        const Wide cap = rule.level_cap_by_tech[std::min(tech, rule.level_cap_by_tech.size() - 1)];
        while (r.level < cap && r.level < static_cast<Word>(rule.exp_levels.size()) &&
               r.exp >= rule.exp_levels[static_cast<std::size_t>(r.level)] * 10) {
            ++r.level;
            tell(EventType::k_level_up, {id_of(i), r.level});
        }
    }
    refresh_max(i);
}

void Sim::come_back(int i, Wide hp_pct, bool bought) {
    Robot& r = robot(i);
    const Settings& rule = s();
    r.alive = 1;
    r.hp = static_cast<Word>(std::max<Wide>(1, Wide{r.max_hp} * hp_pct / 100));
    r.revived_at = now();
    r.revive_progress = r.revive_required = 0;
    if (bought) {
        ++r.revivals_bought;
        r.weak = 2;
        r.weak_end = r.invulnerable_end = now() + ticks(rule.revive_now_weak_s);
        r.boost_end = now() + ticks(rule.revive_now_power_s);
    } else {
        r.weak = 1;
        r.invulnerable_end = now() + 1 + ticks(rule.revive_invulnerable_s);
    }
    refresh_power(i);
    tell(EventType::k_revived, {id_of(i), static_cast<Word>(bought ? Name::k_buy : Name::k_free)});
}

void Sim::revive(int i) {
    Robot& r = robot(i);
    const Settings& rule = s();
    if (r.alive != 0 || model(i).flyer) return;
    const Word before = r.revive_progress;
    const bool fast = team(r.team).base_hp < rule.revive_fast_below_hp;
    r.revive_progress = static_cast<Word>(
        std::min<Wide>(r.revive_required, before + (fast ? rule.revive_fast_rate : 1)));
    if (r.revive_progress < r.revive_required) return;
    if (before < r.revive_required) {
        tell(EventType::k_revive_ready, {id_of(i)}, Word{1} << r.team);
    }
    if (r.revive_wish != 0) come_back(i, rule.revive_hp_pct, false);
}

void Sim::lives() {
    for (int i = 0; i < count(); ++i) {
        raise_levels(i);
        revive(i);
    }
}

}  // namespace sysone::arena
