// Drives everything that the core runs on threads, for ThreadSanitizer: batches of arena matches
// with every kind of reset, matches of their own on shared rules, and T-Rex games on a pool. Prints
// how much it did; the results must not depend on the number of threads.
//
//   usage: check_threads RULES.json
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "arena/fast/batch.h"
#include "trex/autoplay.h"

namespace {

using namespace sysone;

void require(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
}

// The caller's arrays of a batch.
struct Arrays {
    explicit Arrays(std::size_t n, std::size_t rows)
        : own(n * 2 * rows * arena::kOwnColumns),
          mates(n * 2 * rows * arena::kMateColumns),
          enemies(n * 2 * rows * arena::kEnemyColumns),
          globals(n * 2 * arena::kGlobalColumns),
          final_own(own),
          final_mates(mates),
          final_enemies(enemies),
          final_globals(globals),
          move(n * 2 * rows * 2, 0.5f),
          spin(n * 2 * rows, 0.1f),
          rewards(n * 2),
          go(n * 2 * rows),
          fire(n * 2 * rows, 1),
          aim(n * 2 * rows),
          order(n * 2 * rows),
          winner(n),
          ticks(n),
          terminated(n),
          truncated(n),
          began(n),
          seeds(n) {
        std::iota(seeds.begin(), seeds.end(), 1u);
    }
    arena::BatchArrays pointers() {
        arena::BatchArrays to;
        to.own = own.data();
        to.mates = mates.data();
        to.enemies = enemies.data();
        to.globals = globals.data();
        to.final_own = final_own.data();
        to.final_mates = final_mates.data();
        to.final_enemies = final_enemies.data();
        to.final_globals = final_globals.data();
        to.move = move.data();
        to.spin = spin.data();
        to.go = go.data();
        to.fire = fire.data();
        to.aim = aim.data();
        to.order = order.data();
        to.rewards = rewards.data();
        to.terminated = terminated.data();
        to.truncated = truncated.data();
        to.began = began.data();
        to.winner = winner.data();
        to.ticks = ticks.data();
        to.seeds = seeds.data();
        return to;
    }

    std::vector<float> own, mates, enemies, globals, final_own, final_mates, final_enemies,
        final_globals, move, spin, rewards;
    std::vector<std::int32_t> go, fire, aim, order, winner, ticks;
    std::vector<std::uint8_t> terminated, truncated, began;
    std::vector<std::uint64_t> seeds;
};

// The digests of a batch that is stepped over the end of its episodes.
std::vector<std::uint64_t> batch(const std::shared_ptr<const arena::Rules>& rules,
                                 arena::Autoreset autoreset, int threads) {
    constexpr int kEnvs = 6, kRows = 3, kSteps = 14;
    arena::Lineups lineups;
    lineups.deck = true;
    for (auto& side : lineups.sides) {
        for (int slot = 1; slot <= kRows; ++slot) {
            side.push_back({slot, rules->models()[static_cast<std::size_t>(slot)].number});
        }
    }
    arena::BatchOptions options;
    options.envs = kEnvs;
    options.threads = threads;
    options.rows = kRows;
    options.duration_ticks = 20;
    options.autoreset = autoreset;
    options.bots = {arena::Bot::kNone, arena::Bot::kRandom};
    options.driven = {true, false};
    Arrays arrays(kEnvs, kRows);
    arena::SimBatch sims(rules, lineups, options, arrays.pointers());
    std::vector<int> all(kEnvs);
    std::iota(all.begin(), all.end(), 0);
    sims.reset(all);
    for (int step = 0; step < kSteps; ++step) sims.step();
    std::vector<std::uint64_t> digests;
    for (int env = 0; env < kEnvs; ++env) {
        for (const auto* of : {&sims.last_digests(env), &sims.digests(env)}) {
            digests.insert(digests.end(), of->begin(), of->end());
        }
    }
    return digests;
}

// A batch whose scenario is refused in one environment after the other: the error crosses threads.
void errors_cross_threads() {
    arena::Crew crew(4);
    for (int round = 0; round < 50; ++round) {
        bool caught = false;
        try {
            crew.each(16, [](int i) {
                if (i % 5 == 0) throw std::runtime_error("refused");
            });
        } catch (const std::runtime_error&) {
            caught = true;
        }
        require(caught, "an error of a thread reaches the caller");
    }
}

// Matches of their own, one a thread, on the same rules.
void matches_on_shared_rules(const std::shared_ptr<const arena::Rules>& rules) {
    std::vector<std::uint64_t> digests(4);
    {
        std::vector<std::jthread> pool;
        for (auto& digest : digests) {
            pool.emplace_back([&digest, &rules] {
                arena::Lineups lineups;
                lineups.deck = true;
                for (auto& side : lineups.sides) side = {{1, rules->models().front().number}};
                arena::Sim sim(rules, lineups, 7, 200);
                sim.act(0, R"({"1":{"move":[1,0],"fire":true}})");
                sim.advance(60);
                std::string seen;
                sim.observe(0, true, 0, seen);
                digest = sim.tick_digest();
            });
        }
    }
    for (const auto digest : digests) require(digest == digests[0], "the same match");
}

int games(int threads) {
    std::vector<std::int64_t> seeds(12);
    std::iota(seeds.begin(), seeds.end(), 1);
    trex::AutoplayOptions options;
    options.frames = 400;
    options.policy = trex::Policy::kRandomSafe;
    int total = 0;
    for (const auto& game : trex::autoplay_all(seeds, options, threads)) total += game.best_score;
    return total;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        require(count == 2, "usage: check_threads RULES.json");
        std::ifstream file(arguments[1]);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const auto rules = std::make_shared<const arena::Rules>(text);
        std::size_t ticks = 0;
        for (const auto autoreset : {arena::Autoreset::kDisabled, arena::Autoreset::kNextStep,
                                     arena::Autoreset::kSameStep}) {
            const auto one = batch(rules, autoreset, 1);
            require(batch(rules, autoreset, 4) == one, "a batch does not depend on threads");
            ticks += 2 * one.size();
        }
        errors_cross_threads();
        matches_on_shared_rules(rules);
        require(games(1) == games(4), "games do not depend on threads");
        std::printf("%zu ticks of batches, 4 matches, 24 games\n", ticks);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
