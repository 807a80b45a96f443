#include "trex/planner.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

namespace sysone::trex {
namespace {

using Node = MotionGraph::Node;

constexpr int kMinHorizon = 12;
constexpr int kHorizonMargin = 6;

int whole_frames(double value) {
    if (!std::isfinite(value) || std::abs(value) > kMaxTimingFrames) {
        throw std::invalid_argument("timing must be finite and at most 600 frames, not " +
                                    std::to_string(value));
    }
    return round_half_even(value);
}

// The timing in whole frames.
struct Windows {
    Window first;
    Window gap;
    std::optional<int> period;

    explicit Windows(const Timing& timing)
        : first{std::max(0, whole_frames(timing.first[0])),
                std::max(0, whole_frames(timing.first[1]))},
          gap{std::max(0, whole_frames(timing.gap[0])), 0} {
        gap.hi = std::max({1, gap.lo, std::max(0, whole_frames(timing.gap[1]))});
        if (timing.period && *timing.period != 0)
            period = std::max(1, whole_frames(*timing.period));
    }
};

// What stands in the way after the landing if no key is pressed.
struct Threat {
    int obstacle = -1;  // index in the snapshot, -1 for none
    int crash = 0;      // frame of the hit
};

// One plan in the making: the situation at the landing, and the searches over it.
class Situation {
  public:
    Situation(const Snapshot& snap, const Windows& windows, int horizon)
        : snap_(snap),
          windows_(windows),
          horizon_(horizon),
          world_(snap, horizon),
          search_(world_, motions_, windows.gap, horizon, windows.period) {
        // a pending answer acts first
        start_ = motions_.intern(snap.trex);
        held_ = snap.held;
        if (snap.pending) {
            start_ = search_.press(start_, *snap.pending, 0);
            held_ = after(*snap.pending);
        }
        arrival_ = search_.run_frames(start_, held_, 0, windows.first.lo);
        airborne_ = motions_.state(alive() ? arrival_ : start_).jumping;
    }

    Plan plan() {
        Plan plan;
        plan.airborne = airborne_;
        for (const Action action : kAllActions) {
            plan.safe[index(action)] = search_.lands(start_, held_, action, 0, windows_.first);
        }
        if (alive()) find_threat();
        describe_surroundings(plan);

        plan.best = recommend(plan);
        if (!plan.safe[index(plan.best)]) {
            for (const Action action : {Action::kRun, Action::kJump, Action::kDuck}) {
                if (!plan.safe[index(action)]) continue;
                plan.best = action;
                break;
            }
        }
        plan.states = search_.states();
        if (!plan.any_safe()) best_effort(plan);
        return plan;
    }

    bool threat_is_bird() const { return threat_.obstacle >= 0 && view(threat_.obstacle).bird; }

  private:
    bool alive() const { return arrival_ != MotionGraph::kDead; }

    const ObstacleView& view(int obstacle) const {
        return snap_.obstacles[static_cast<std::size_t>(obstacle)];
    }

    void find_threat() {
        Node node = arrival_;
        for (int k = windows_.first.lo + 1; k <= horizon_; ++k) {
            const bool dropping = motions_.state(node).speed_drop;
            const MotionGraph::Edge edge = motions_.step(node, dropping ? Held::kDuck : Held::kRun);
            if (world_.hit(k, edge.y, edge.ducking)) {
                threat_ = {world_.front(k).obstacle, k};
                return;
            }
            node = edge.next;
        }
    }

    void describe_surroundings(Plan& plan) const {
        int ahead = threat_.obstacle;
        for (std::size_t i = 0; ahead < 0 && i < snap_.obstacles.size(); ++i) {
            const ObstacleView& obstacle = snap_.obstacles[i];
            if (obstacle.x + obstacle.width > snap_.trex_x) ahead = static_cast<int>(i);
        }
        if (threat_.obstacle >= 0) {
            plan.threat = view(threat_.obstacle).label;
            plan.threat_id = view(threat_.obstacle).id;
            plan.eta_ms = (threat_.crash - windows_.first.lo) * kFrameMs;
        }
        if (ahead >= 0) {
            const ObstacleView& obstacle = view(ahead);
            plan.ahead = obstacle.label;
            plan.ahead_id = obstacle.id;
            int x = obstacle.x;
            for (int k = 1; k <= windows_.first.lo; ++k) {
                const double speed = k <= horizon_ ? world_.speed(k) : snap_.speed;
                x -= obstacle_step(speed, obstacle.offset);
            }
            plan.distance_px = x - (snap_.trex_x + kTrexWidth);
        }
    }

    Action recommend(const Plan& plan) {
        const auto safe = [&](Action action) { return plan.safe[index(action)]; };
        if (airborne_) {
            const bool quick = windows_.gap.hi <= 6 && !windows_.period;
            const bool drop =
                safe(Action::kDuck) && (!safe(Action::kRun) || (quick && !clearing()));
            return drop ? Action::kDuck : Action::kRun;
        }
        if (threat_.obstacle < 0) return Action::kRun;

        // does this one manoeuvre carry the dinosaur past the threat?
        const int passed = world_.passed(static_cast<std::size_t>(threat_.obstacle));
        const int until = passed > 0 ? passed : horizon_;
        const Window& first = windows_.first;
        const bool near = threat_.crash - first.lo <= first.hi - first.lo + kDuckLeadFrames;
        for (const Action action : {Action::kDuck, Action::kJump}) {
            if (action == Action::kDuck && !(threat_is_bird() && near)) continue;
            if (safe(action) &&
                search_.lands(start_, held_, action, 0, first, Lock(action, until))) {
                return action;
            }
        }
        if (safe(Action::kRun)) return Action::kRun;
        if (safe(Action::kJump)) return Action::kJump;
        return safe(Action::kDuck) ? Action::kDuck : Action::kJump;
    }

    // Does this arc pass an obstacle before it lands, or just after?
    bool clearing() const {
        // dead on arrival, yet "safe" where the landing window is empty (latest before earliest)
        if (!alive()) return false;
        int k = windows_.first.lo;
        TrexState state = motions_.state(arrival_);
        while (state.jumping && k < horizon_) {
            state = fall(enforce(state, Held::kRun));
            ++k;
        }
        for (std::size_t i = 0; i < snap_.obstacles.size(); ++i) {
            const int passed = world_.passed(i);
            if (passed > windows_.first.lo && passed <= k + 2) return true;
        }
        return false;
    }

    // Nothing is safe for every delay: count for how many delays each action is.
    void best_effort(Plan& plan) {
        plan.robust = false;
        const Window& gap = windows_.gap;
        int usual = round_half_even((gap.lo + gap.hi) / 2.0);
        if (!windows_.period) usual = std::max(1, usual);
        Search relaxed(world_, motions_, {usual, usual}, horizon_,
                       windows_.period ? std::optional<int>(1) : std::nullopt);

        PerAction<int> cover{};
        for (const Action action : kAllActions) {
            for (int g = windows_.first.lo; g <= windows_.first.hi; ++g) {
                if (relaxed.lands(start_, held_, action, 0, {g, g})) ++cover[index(action)];
            }
        }
        const int largest = *std::max_element(cover.begin(), cover.end());
        if (largest == 0) return;

        std::array<Action, kActions> order = kAllActions;
        std::stable_sort(order.begin(), order.end(), [&](Action a, Action b) {
            const auto rank = [&](Action action) {
                return std::tuple(-cover[index(action)], action != as_action(held_),
                                  action != Action::kRun);
            };
            return rank(a) < rank(b);
        });
        plan.best = order[0];
        for (const Action action : kAllActions) {
            plan.safe[index(action)] = cover[index(action)] == largest;
        }
    }

    const Snapshot& snap_;
    const Windows& windows_;
    int horizon_;
    World world_;
    MotionGraph motions_;
    Search search_;
    Node start_;
    Held held_;
    Node arrival_;
    bool airborne_;
    Threat threat_;
};

// What each action does, in words a model can weigh.
PerAction<std::string> notes(const Plan& plan, bool threat_is_bird) {
    const std::optional<std::string>& label = plan.threat ? plan.threat : plan.ahead;
    const std::string name = label.value_or("None");
    const auto note = [&](Action action) -> std::string {
        const bool safe = plan.safe[index(action)];
        if (plan.airborne) {
            if (action == Action::kDuck) {
                return safe ? "Drops fast to land sooner" : "Drops onto the " + name;
            }
            return safe ? "Keeps flying" : "Lands on the " + name;
        }
        if (!safe) return label ? "Hits the " + name : "Collides";
        switch (action) {
            case Action::kRun:
                if (!plan.threat) return "Keeps running";
                return plan.best == Action::kRun ? "Waits; acts later" : "Waits; must act soon";
            case Action::kJump:
                if (!plan.threat) return "Jumps for no reason";
                return plan.best == Action::kRun ? "Jumps too early" : "Clears the " + name;
            case Action::kDuck:
                break;
        }
        return threat_is_bird ? "Passes under the " + name : "Crouches; no benefit";
    };
    return {note(Action::kJump), note(Action::kDuck), note(Action::kRun)};
}

}  // namespace

int Planner::horizon(const Snapshot& snap) const {
    int frames = kMinHorizon;
    for (const ObstacleView& obstacle : snap.obstacles) {
        const int step = std::max(1, obstacle_step(snap.speed, obstacle.offset));
        const double away = static_cast<double>(obstacle.x + obstacle.width - snap.trex_x) / step;
        frames = std::max(frames, static_cast<int>(std::ceil(away)) + kHorizonMargin);
    }
    return std::min(frames, max_horizon_);
}

Plan Planner::plan(const Snapshot& snap, const Timing& timing) const {
    if (snap.obstacles.empty()) {
        Plan plan;
        plan.safe = {true, true, true};
        plan.airborne = snap.trex.jumping;
        plan.notes = notes(plan, false);
        return plan;
    }
    const Windows windows(timing);
    const int horizon = std::max(this->horizon(snap), windows.first.hi + 2 * windows.gap.hi + 2);
    Situation situation(snap, windows, horizon);
    Plan plan = situation.plan();
    plan.notes = notes(plan, situation.threat_is_bird());
    return plan;
}

}  // namespace sysone::trex
