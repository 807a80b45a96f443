#include "arena/fast/navigator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "arena/core/flow.h"

namespace sysone::arena {
namespace {

constexpr double kCellM = 0.05;
constexpr double kCellsPerM = 20;
constexpr int kSideCost = 5, kDiagonalCost = 7;
constexpr int kLookAheadCells = 12;
constexpr double kGoalGridM = 0.25;
constexpr double kArrivedM = 0.25;

}  // namespace

Navigator::Navigator(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {}

const Navigator::Costs& Navigator::costs(const Model& model, Metres goal) {
    const auto grid = [](double at) {
        return static_cast<Word>(std::nearbyint(at / kGoalGridM) * kGoalGridM * 1000);
    };
    const Key key{model.number, grid(goal.x), grid(goal.y)};
    const std::lock_guard lock(mutex_);
    auto& made = made_[key];
    if (!made) {
        made = std::make_unique<Costs>(flow_field(*rules_, model, key.x * 1000, key.y * 1000));
    }
    return *made;
}

int Navigator::cell(double x, double y) const noexcept {
    // positions come in whole millimetres; the addition keeps those on an edge in their cell
    return static_cast<int>(y * kCellsPerM + 1e-6) * rules_->field().columns() +
           static_cast<int>(x * kCellsPerM + 1e-6);
}

Metres Navigator::steer(const Costs& costs, Metres at, Metres goal) const {
    double dx = goal.x - at.x, dy = goal.y - at.y;
    const double distance = std::hypot(dx, dy);
    if (distance < kArrivedM) return {};
    const int here = cell(at.x, at.y);
    int free = kLookAheadCells;
    if (here >= 0 && here < static_cast<int>(costs.size()) &&
        costs[static_cast<std::size_t>(here)] != kUnreachable) {
        int chosen = 0;
        std::tie(chosen, free) = ahead(costs, here, at);
        const int columns = rules_->field().columns();
        dx = (chosen % columns + 0.5) * kCellM - at.x;
        dy = (chosen / columns + 0.5) * kCellM - at.y;
    }
    const double size = std::hypot(dx, dy);
    if (size == 0) return {};
    // slower where the way is narrow, so that the body does not slide past the gap
    const double slow = std::min({1.0, distance / 0.6, (free + 2) / 8.0});
    const auto thousandths = [](double value) { return std::nearbyint(value * 1000) / 1000; };
    return {thousandths(dx / size * slow), thousandths(dy / size * slow)};
}

// The farthest cell of the way that a straight line reaches, and how many cells that is.
std::pair<int, int> Navigator::ahead(const Costs& costs, int from, Metres at) const noexcept {
    int chosen = from, steps = 0, now = from;
    for (int step = 1; step <= kLookAheadCells; ++step) {
        if (costs[static_cast<std::size_t>(now)] == 0) break;
        now = next(costs, now);
        if (step > 1 && !clear(costs, at, now)) break;
        chosen = now;
        steps = step;
    }
    return {chosen, steps};
}

// Whether a straight line to a cell leads over nothing but ground that can be walked. Costs alone
// do not tell: the ground below a ledge may well be nearer to the goal.
bool Navigator::clear(const Costs& costs, Metres at, int to) const noexcept {
    const Field& field = rules_->field();
    const int columns = field.columns();
    const double x = (to % columns + 0.5) * kCellM, y = (to / columns + 0.5) * kCellM;
    const int samples = std::max(2, static_cast<int>(std::hypot(x - at.x, y - at.y) / kCellM * 2));
    const int here = cell(at.x, at.y);
    const int limit = costs[static_cast<std::size_t>(here)] + 7;
    Word height = field.ground(here);
    int before = here;
    for (int k = 1; k <= samples; ++k) {
        const int there = cell(at.x + (x - at.x) * k / samples, at.y + (y - at.y) * k / samples);
        if (there == before) continue;  // most samples lie in the cell of the one before
        before = there;
        const Word ground = field.ground(there);
        if (costs[static_cast<std::size_t>(there)] > limit ||
            std::abs(ground - height) > rules_->settings().ledge_free_mm) {
            return false;
        }
        height = ground;
    }
    return true;
}

// The next cell of a shortest way: its cost is less by the step's own, 5 or 7. Of two such cells
// the level one: the other may lie below a ledge, on a way of its own.
int Navigator::next(const Costs& costs, int from) const noexcept {
    const Field& field = rules_->field();
    const int columns = field.columns();
    const Word ground = field.ground(from);
    const int cost = costs[static_cast<std::size_t>(from)];
    int best = from;
    std::pair<bool, int> least{true, kUnreachable};
    for (const int up : {-columns, 0, columns}) {
        for (const int side : {-1, 0, 1}) {
            const int other = from + up + side;
            if (other < 0 || other >= static_cast<int>(costs.size())) continue;
            const int step = up != 0 && side != 0 ? kDiagonalCost : kSideCost;
            const int theirs = costs[static_cast<std::size_t>(other)];
            if (theirs != cost - step) continue;
            const bool ledge =
                std::abs(field.ground(other) - ground) > rules_->settings().ledge_free_mm;
            if (std::pair{ledge, theirs} < least) {
                best = other;
                least = {ledge, theirs};
            }
        }
    }
    return best;
}

}  // namespace sysone::arena
