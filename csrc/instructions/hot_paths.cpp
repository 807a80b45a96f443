// The core's hottest functions under callgrind, for counts of instructions that no other work on
// the machine changes. Each case sets up outside the count, does fixed work inside, and is dumped
// under its own name; `bench/instructions.py` runs this and compares.
//
//   valgrind --tool=callgrind --collect-atstart=no hot_paths RULES
//
// RULES is a season's compiled rule book, JSON.
#include <valgrind/callgrind.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arena/core/sim.h"
#include "drive/fold.h"
#include "trex/keys.h"
#include "trex/planner.h"
#include "trex/shield.h"

namespace {

using namespace sysone;

// Counts the instructions of one piece of work; its result is printed, so that it is not left out.
template <typename Work>
void count(const char* name, Work work) {
    CALLGRIND_ZERO_STATS;
    CALLGRIND_TOGGLE_COLLECT;
    const std::int64_t result = work();
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_DUMP_STATS_AT(name);
    std::printf("%s %lld\n", name, static_cast<long long>(result));
}

// Three answers a second of frames, each due 6 to 18 frames after its question.
constexpr trex::Timing kTiming{{6, 18}, {6, 20}, 20.0};
constexpr int kMinute = 3600;  // frames

trex::Game game(bool scenery) {
    return trex::Game(7, {trex::CourseStyle::kOriginal, 7}, {true, scenery});
}

// Moments of an invincible minute that jumps every 39 frames.
std::vector<trex::Snapshot> moments() {
    trex::Game played = game(false);
    std::vector<trex::Snapshot> found;
    played.press_jump();
    for (int frame = 1; frame <= kMinute; ++frame) {
        played.step();
        if (frame % 39 == 0) played.press_jump();
        if (frame % 30 == 0) found.push_back(trex::snapshot(played, trex::Held::kRun));
    }
    return found;
}

void count_trex() {
    count("trex.engine", [played = game(true)]() mutable {
        played.press_jump();
        for (int frame = 1; frame <= kMinute; ++frame) {
            played.step();
            if (frame % 39 == 0) played.press_jump();
        }
        return played.score();
    });
    const std::vector<trex::Snapshot> found = moments();
    count("trex.plan", [&found] {
        const trex::Planner planner;
        std::int64_t states = 0;
        for (const trex::Snapshot& snap : found) {
            states += static_cast<std::int64_t>(planner.plan(snap, kTiming).states);
        }
        return states;
    });
    count("trex.protect", [&found] {
        std::int64_t changed = 0;
        for (const trex::Snapshot& snap : found) {
            for (const trex::Action action : trex::kAllActions) {
                changed += trex::protect(snap, action) != action;
            }
        }
        return changed;
    });
}

// Six guns against five that walk to the middle of the field and hold the trigger.
std::unique_ptr<arena::Sim> fight(const std::shared_ptr<const arena::Rules>& rules) {
    arena::Lineups lineups;
    lineups.deck = true;
    lineups.sides[0] = {{1, 2612}, {2, 2631}, {3, 2632}, {4, 2633}, {5, 2634}, {6, 2671}};
    lineups.sides[1] = {{1, 2612}, {2, 2631}, {3, 2632}, {4, 2633}, {5, 2671}};
    auto sim = std::make_unique<arena::Sim>(rules, lineups, 1, 8400);
    std::string armed;
    for (std::size_t side = 0; side < lineups.sides.size(); ++side) {
        for (const arena::LineupEntry& entry : lineups.sides[side]) {
            armed += armed.empty() ? "" : ",";
            armed += (side == 0 ? "\"red-" : "\"blue-") + std::to_string(entry.slot) +
                     "\":{\"ammo\":100000}";
        }
    }
    if (sim->reset(1, "{\"robots\":{" + armed + "}}")) throw std::runtime_error("scenario refused");
    return sim;
}

void advance(arena::Sim& sim, int ticks) {
    std::string red = "{", blue = "{";
    for (int slot = 1; slot <= 6; ++slot) {
        const std::string way = std::to_string(0.1 * (slot - 3));
        const std::string key = std::string(slot > 1 ? "," : "") + '"' + std::to_string(slot);
        red += key + "\":{\"fire\":true,\"move\":[1," + way + "]}";
        if (slot < 6) blue += key + "\":{\"fire\":true,\"move\":[-1," + way + "]}";
    }
    red += '}';
    blue += '}';
    for (int done = 0; done < ticks; done += 20) {
        if (sim.act(0, red) || sim.act(1, blue)) throw std::runtime_error("action refused");
        sim.advance(20);
    }
}

void count_arena(const char* path) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto rules = std::make_shared<const arena::Rules>(text);
    const std::unique_ptr<arena::Sim> sim = fight(rules);
    count("arena.tick", [&sim] {
        advance(*sim, 1200);
        return static_cast<std::int64_t>(sim->tick_digest() >> 1);
    });
    count("arena.observe", [&sim] {
        std::int64_t bytes = 0;
        std::string out;
        for (int round = 0; round < 50; ++round) {
            for (int team = 0; team < 2; ++team) {
                out.clear();
                sim->observe(team, false, 0, out);
                bytes += static_cast<std::int64_t>(out.size());
            }
        }
        return bytes;
    });
}

// A drive of 10,000 ticks that touches a car now and then and stands still at its end.
void count_drive() {
    constexpr std::size_t kTicks = 10'000;
    std::vector<double> time(kTicks), speed(kTicks, 5), completion(kTicks), location(3 * kTicks);
    std::vector<std::uint8_t> red(kTicks), junction(kTicks), known(kTicks, 1);
    std::vector<std::int64_t> road(kTicks, 8);
    std::vector<drive::Contact> contacts;
    for (std::size_t tick = 0; tick < kTicks; ++tick) {
        time[tick] = 0.05 * static_cast<double>(tick);
        completion[tick] = 0.009 * static_cast<double>(tick);
        location[3 * tick] = 0.25 * static_cast<double>(tick);
        red[tick] = tick % 1000 == 500;
        if (tick % 700 < 3) {
            contacts.push_back({static_cast<std::int64_t>(tick), 7, drive::kVehicle});
        }
    }
    const std::vector<std::int64_t> roads{8};
    const drive::TickColumns columns{
        kTicks,          time.data(), speed.data(), completion.data(), location.data(), red.data(),
        junction.data(), road.data(), known.data(), contacts.data(),   contacts.size()};
    const drive::FoldRules rules{true, true, true, false, true, 0.1, 60, 99, roads.data(), 1};
    count("drive.fold", [&] {
        return static_cast<std::int64_t>(drive::fold_columns(columns, rules).events.size());
    });
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) {
        std::fprintf(stderr, "usage: hot_paths RULES\n");
        return 2;
    }
    try {
        count_trex();
        count_arena(words[1]);
        count_drive();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
