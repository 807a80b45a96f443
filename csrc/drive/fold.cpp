#include "drive/fold.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace drive {
namespace {

// Values of the official penalty table, in the order of EventKind; the last two end or are listed.
constexpr std::array<double, 6> kFactor = {0.65, 0.5, 0.6, 0.7, 1.0, 1.0};

// Bench2Drive's collision criterion.
constexpr double kSameActorS = 5.0;
constexpr double kSamePlaceM = 5.0;
constexpr double kStandingSpeed = 0.1;

// The earlier harness's rules.
constexpr double kRedSpeed = 1.0;
constexpr std::size_t kRedSustainTicks = 3;
constexpr std::int64_t kDeviationTicks = 5;

double distance(const double* a, const double* b) {
    const double x = a[0] - b[0];
    const double y = a[1] - b[1];
    const double z = a[2] - b[2];
    return std::sqrt(x * x + y * y + z * z);
}

std::size_t find_blocked(const TickColumns& ticks, const FoldRules& rules,
                         std::vector<FoldEvent>& events) {
    if (rules.blocked_ends) {
        double moved_s = 0.0;
        for (std::size_t i = 0; i < ticks.count; ++i) {
            if (!(ticks.speed[i] < rules.blocked_speed)) {
                moved_s = ticks.sim_time[i];
            } else if (ticks.sim_time[i] - moved_s > rules.blocked_s) {
                events.push_back({kBlocked, static_cast<std::int64_t>(i), 1});
                return i + 1;
            }
        }
        return ticks.count;
    }
    for (std::size_t i = 0; i < ticks.count; ++i) {
        if (!(ticks.speed[i] < rules.blocked_speed)) continue;
        if (!(ticks.completion[i] < rules.reached_percent)) continue;
        const std::size_t first = i;
        while (i + 1 < ticks.count && ticks.speed[i + 1] < rules.blocked_speed) ++i;
        const double stood = ticks.sim_time[i] - ticks.sim_time[first];
        if (stood > rules.blocked_s || (!rules.blocked_strict && stood == rules.blocked_s)) {
            events.push_back({kBlocked, static_cast<std::int64_t>(first),
                              static_cast<std::int64_t>(i - first + 1)});
        }
    }
    return ticks.count;
}

void count_every_contact(const TickColumns& ticks, std::size_t counted,
                         std::vector<FoldEvent>& events) {
    std::int64_t last = -1;
    for (std::size_t k = 0; k < ticks.contact_count; ++k) {
        const Contact& contact = ticks.contacts[k];
        if (contact.tick >= static_cast<std::int64_t>(counted)) break;
        if (contact.tick == last) continue;
        last = contact.tick;
        if (contact.kind != kNoEvent) events.push_back({contact.kind, contact.tick, 1});
    }
}

void count_debounced_contacts(const TickColumns& ticks, std::size_t counted,
                              std::vector<FoldEvent>& events) {
    std::optional<std::int64_t> actor;
    double actor_s = 0.0;
    const double* place = nullptr;
    std::size_t next = 0;
    // nothing happens before the first contact
    std::size_t i =
        ticks.contact_count == 0 ? counted : static_cast<std::size_t>(ticks.contacts[0].tick);
    for (; i < counted; ++i) {
        const double* here = ticks.location + 3 * i;
        for (; next < ticks.contact_count &&
               ticks.contacts[next].tick == static_cast<std::int64_t>(i);
             ++next) {
            const Contact& contact = ticks.contacts[next];
            if (actor == contact.actor) continue;
            if (place != nullptr && distance(here, place) <= kSamePlaceM) continue;
            if (ticks.speed[i] < kStandingSpeed) continue;
            if (contact.kind != kNoEvent) {
                events.push_back({contact.kind, contact.tick, 1});
            }
            place = here;
            if (contact.actor != 0) {
                actor = contact.actor;
                actor_s = ticks.sim_time[i];
            }
        }
        // both memories are let go at the end of a tick, after its contacts
        if (actor && ticks.sim_time[i] - actor_s > kSameActorS) actor.reset();
        if (place != nullptr && distance(here, place) > kSamePlaceM) place = nullptr;
        if (!actor && place == nullptr) {
            if (next >= ticks.contact_count) break;
            i = static_cast<std::size_t>(ticks.contacts[next].tick) - 1;
        }
    }
}

void find_red_lights(const TickColumns& ticks, std::size_t counted,
                     std::vector<FoldEvent>& events) {
    for (std::size_t i = 0; i < counted;) {
        bool ran = ticks.red[i] && ticks.junction[i] && ticks.speed[i] > kRedSpeed;
        for (std::size_t j = i + 1; ran && j < std::min(i + 1 + kRedSustainTicks, counted); ++j) {
            ran = ticks.speed[j] > kRedSpeed;
        }
        if (!ran) {
            ++i;
            continue;
        }
        events.push_back({kRedLight, static_cast<std::int64_t>(i), 1});
        while (i < counted && ticks.red[i]) ++i;
    }
}

void find_deviations(const TickColumns& ticks, const FoldRules& rules, std::size_t counted,
                     std::vector<FoldEvent>& events) {
    const std::int64_t* end = rules.roads + rules.road_count;
    std::int64_t run = 0;
    std::int64_t last_road = 0;
    bool last_outside = !std::binary_search(rules.roads, end, last_road);
    for (std::size_t i = 0; i <= counted; ++i) {
        bool outside = false;
        if (i < counted) {
            if (ticks.road[i] != last_road) {
                last_road = ticks.road[i];
                last_outside = !std::binary_search(rules.roads, end, last_road);
            }
            outside = !ticks.road_known[i] || last_outside;
        }
        if (outside) {
            ++run;
            continue;
        }
        if (run >= kDeviationTicks) {
            events.push_back({kDeviation, static_cast<std::int64_t>(i) - run, run});
        }
        run = 0;
    }
}

}  // namespace

Fold fold_columns(const TickColumns& ticks, const FoldRules& rules) {
    Fold fold{1.0, ticks.count, {}};
    std::vector<FoldEvent> blocked;
    fold.counted = find_blocked(ticks, rules, blocked);
    if (rules.debounced) {
        count_debounced_contacts(ticks, fold.counted, fold.events);
    } else {
        count_every_contact(ticks, fold.counted, fold.events);
    }
    if (rules.red_from_ticks) find_red_lights(ticks, fold.counted, fold.events);
    fold.events.insert(fold.events.end(), blocked.begin(), blocked.end());
    if (rules.deviation_from_ticks && rules.road_count > 0) {
        find_deviations(ticks, rules, fold.counted, fold.events);
    }
    for (const FoldEvent& event : fold.events) {
        fold.penalty *= kFactor[static_cast<std::size_t>(event.kind)];
    }
    return fold;
}

}  // namespace drive
