#include "trex/shield.h"

#include <algorithm>

#include "trex/world.h"

namespace sysone::trex {
namespace {

constexpr int kRecoveryFrames = 6;

// Plays single trajectories of one snapshot.
class Trial {
  public:
    explicit Trial(const World& world) : world_(world) {}

    // Plays one frame `k`; false on a hit.
    bool play(TrexState& state, Held held, int k) const {
        state = fall(enforce(state, held));
        if (world_.hit(k, state.y, state.ducking)) return false;
        state = settle(state);
        return true;
    }

    TrexState press(const TrexState& state, Action action, int k) const {
        return action == Action::kJump ? impulse_jump(state, world_.press_speed(k + 1)) : state;
    }

    // Frames that an action pressed before frame start + 1 lives, up to `count`.
    int survival(const TrexState& state, Action action, int count, int start = 0) const {
        TrexState at = press(state, action, start);
        for (int lived = 0; lived < count; ++lived) {
            if (!play(at, after(action), start + lived + 1)) return lived;
        }
        return count;
    }

    bool survives(const TrexState& state, Action action, int count, int start = 0) const {
        return survival(state, action, count, start) >= count;
    }

  private:
    const World& world_;
};

}  // namespace

Action protect(const Snapshot& snap, Action action, int urgent, int horizon) {
    if (!snap.playing) return action;
    const auto first = std::find_if(snap.obstacles.begin(), snap.obstacles.end(),
                                    [&](const auto& o) { return o.x + o.width > snap.trex_x + 1; });
    if (first == snap.obstacles.end()) return action;

    const World world(snap, horizon);
    const Trial trial(world);
    const TrexState& trex = snap.trex;
    const Action held = as_action(snap.held);
    const int passed = world.passed(static_cast<std::size_t>(first - snap.obstacles.begin()));
    const int clear = passed > 0 ? passed : horizon;
    const int recovery =
        std::min(horizon, std::max(urgent + kRecoveryFrames, clear + kRecoveryFrames));

    // an arc that clears is never shortened
    if (action == Action::kDuck && trex.jumping && snap.held == Held::kRun &&
        trial.survives(trex, Action::kRun, recovery)) {
        return Action::kRun;
    }

    const bool motion_change = action != held && (trex.jumping || action == Action::kJump);
    if (trial.survives(trex, action, motion_change ? recovery : urgent)) return action;
    for (const Action alternate : {held, Action::kJump, Action::kDuck, Action::kRun}) {
        if (alternate != action && trial.survives(trex, alternate, recovery)) return alternate;
    }

    if (motion_change && snap.held == Held::kRun && action != Action::kRun) {
        // waiting is fine as long as a later jump still saves
        TrexState waiting = trex;
        for (int delay = 1; delay <= std::min(urgent, recovery); ++delay) {
            if (!trial.play(waiting, Held::kRun, delay)) break;
            if (trial.survives(waiting, Action::kJump, recovery - delay, delay))
                return Action::kRun;
        }
    }
    if (motion_change &&
        trial.survival(trex, held, recovery) > trial.survival(trex, action, recovery)) {
        return held;
    }
    return action;
}

}  // namespace sysone::trex
