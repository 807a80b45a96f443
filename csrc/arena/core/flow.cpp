#include "arena/core/flow.h"

#include <array>
#include <cstdlib>
#include <utility>

namespace sysone::arena {
namespace {

bool walkable(const Rules& rules, const Model& model, int from, int to) {
    const Field& field = rules.field();
    if (model.flyer) return true;
    if (field.blocked(model.blocked, to) || field.blocked(model.blocked, from)) return false;
    const auto passes = [&](const Gate* gate) {
        return gate != nullptr && gate->need != Need::kFlyRamp &&
               (model.passes >> static_cast<unsigned>(gate->need) & 1u) != 0;
    };
    const Gate* here = field.gate(from);
    const Gate* there = field.gate(to);
    if (there != nullptr && there->need == Need::kTunnel && !passes(there)) return false;
    const Word rise = std::abs(field.ground(to) - field.ground(from));
    const Settings& rule = rules.settings();
    if (rise <= rule.ledge_free_mm) return true;
    return rise <= rule.ledge_gate_mm && (model.legged || passes(here) || passes(there));
}

}  // namespace

std::vector<std::uint16_t> flow_field(const Rules& rules, const Model& model, Word x_um,
                                      Word y_um) {
    const Field& field = rules.field();
    const int columns = field.columns(), rows = field.rows();
    std::vector<std::uint16_t> cost(static_cast<std::size_t>(columns * rows), kUnreachable);
    if (!field.inside(x_um, y_um)) return cost;
    constexpr int kSide = 5, kDiagonal = 7;
    constexpr int kBuckets = kDiagonal + 1;
    std::array<std::vector<int>, kBuckets> buckets;
    const int goal = field.cell(x_um, y_um, 0);
    cost[static_cast<std::size_t>(goal)] = 0;
    buckets[0].push_back(goal);
    int waiting = 1;
    for (int now = 0; waiting > 0 && now < kUnreachable; ++now) {
        auto& bucket = buckets[static_cast<std::size_t>(now % kBuckets)];
        const std::vector<int> cells = std::exchange(bucket, {});
        waiting -= static_cast<int>(cells.size());
        for (const int to : cells) {
            if (cost[static_cast<std::size_t>(to)] != now) continue;
            const int i = to % columns, j = to / columns;
            const auto reach = [&](int u, int v) {
                if (i + u < 0 || i + u >= columns || j + v < 0 || j + v >= rows) return false;
                return walkable(rules, model, to + v * columns + u, to);
            };
            for (int v = -1; v <= 1; ++v) {
                for (int u = -1; u <= 1; ++u) {
                    if ((u == 0 && v == 0) || !reach(u, v)) continue;
                    const bool diagonal = u != 0 && v != 0;
                    if (diagonal && !(reach(u, 0) && reach(0, v))) continue;
                    const int from = to + v * columns + u;
                    const int total = now + (diagonal ? kDiagonal : kSide);
                    auto& known = cost[static_cast<std::size_t>(from)];
                    if (total >= known) continue;
                    known = static_cast<std::uint16_t>(total);
                    buckets[static_cast<std::size_t>(total % kBuckets)].push_back(from);
                    ++waiting;
                }
            }
        }
    }
    return cost;
}

}  // namespace sysone::arena
