#include "trex/autoplay.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "trex/keys.h"
#include "trex/shield.h"

namespace sysone::trex {
namespace {

Action choose(const Plan& plan, Policy policy, PythonRandom& random) {
    if (policy == Policy::kPlannerBest) return plan.best;
    const Drawn drawn = drawn_from(plan, policy);
    return drawn.actions[static_cast<std::size_t>(random.random_int(0, drawn.count - 1))];
}

AutoplayDecision decision_row(int frame, int run, const Snapshot& snap, const Plan& plan,
                              Action action, Action executed) {
    AutoplayDecision row{frame,       run,       snap.speed,  snap.trex_x,   snap.trex,
                         {},          plan.safe, plan.robust, plan.airborne, plan.distance_px,
                         plan.eta_ms, plan.best, action,      executed};
    for (std::size_t i = 0; i < std::min(kKeptObstacles, snap.obstacles.size()); ++i) {
        const ObstacleView& o = snap.obstacles[i];
        row.obstacles[i] = {o.x, o.y, o.width, o.height, o.offset, o.bird ? 2 : 1};
    }
    return row;
}

}  // namespace

AutoplayGame autoplay(std::int64_t seed, const AutoplayOptions& options) {
    Game game(seed, {options.style, seed}, {.scenery = false});
    Keys keys(game);
    const Planner planner;
    PythonRandom random("autoplay-" + std::to_string(seed));
    const double between = options.frames_per_decision;
    const Timing timing = {{0, 0}, {between, between}, std::nullopt};

    AutoplayGame played;
    played.seed = seed;
    game.press_jump();
    int since = options.frames_per_decision;  // the first decision comes first
    for (int frame = 1; frame <= options.frames; ++frame) {
        if (game.crashed()) {
            game.step();
            if (game.crash_ms() >= kRestartDelayMs) {
                played.best_score = std::max(played.best_score, game.score());
                keys.let_go();
                since = options.frames_per_decision;
                game.restart();
            }
            continue;
        }
        if (options.policy != Policy::kHold && since >= options.frames_per_decision) {
            since = 0;
            const Snapshot snap = snapshot(game, keys.held());
            Plan plan = planner.plan(snap, timing);
            const Action action = choose(plan, options.policy, random);
            const Action executed = options.shield ? protect(snap, action) : action;
            if (executed != action) ++played.shield_interventions;
            keys.apply(executed);
            played.decisions.push_back(
                decision_row(frame - 1, game.run_index(), snap, plan, action, executed));
            if (options.plans) played.plans.push_back(std::move(plan));
        }
        if (options.shield) {
            const Action held = as_action(keys.held());
            const Action saving = protect(snapshot(game, keys.held()), held);
            if (saving != held) {
                keys.apply(saving);
                ++played.shield_interventions;
            }
        }
        keys.enforce();
        game.step();
        ++since;
    }
    played.deaths = game.deaths();
    played.best_score = std::max(played.best_score, game.score());
    return played;
}

std::vector<AutoplayGame> autoplay_all(std::span<const std::int64_t> seeds,
                                       const AutoplayOptions& options, int threads) {
    std::vector<AutoplayGame> games(seeds.size());
    std::atomic<std::size_t> next = 0;
    std::exception_ptr error;
    std::mutex error_mutex;
    const auto work = [&] {
        for (std::size_t i = next++; i < seeds.size(); i = next++) {
            try {
                games[i] = autoplay(seeds[i], options);
            } catch (...) {
                const std::scoped_lock lock(error_mutex);
                if (!error) error = std::current_exception();
                return;
            }
        }
    };
    {
        std::vector<std::jthread> pool;
        for (int t = 1; t < threads; ++t) pool.emplace_back(work);
        work();
    }
    if (error) std::rethrow_exception(error);
    return games;
}

}  // namespace sysone::trex
