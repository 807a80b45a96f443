// The game under any keys, with its planner. The same keys give the same record; every moment can
// be planned for any timing that is allowed, and another is refused; a plan is a function of the
// moment; the game's numbers stay in their ranges.
//
//   input: seed, style, options, then a byte a frame: keys, and now and then a question
#include <optional>
#include <stdexcept>
#include <vector>

#include "fuzz/fuzz.h"
#include "trex/game.h"
#include "trex/planner.h"
#include "trex/record.h"
#include "trex/snapshot.h"

using namespace sysone::trex;
using sysone::fuzz::Bytes;
using sysone::fuzz::require;

namespace {

constexpr int kMostQuestions = 4;  // one may take milliseconds

Timing timing(Bytes& bytes) {
    const auto frames = [&bytes] {
        const int kind = bytes.between(0, 15);
        return kind == 0 ? bytes.take<double>() : bytes.take<std::uint8_t>() / 8.0;
    };
    Timing asked{{frames(), frames()}, {frames(), frames()}, std::nullopt};
    if (bytes.flag()) asked.period = frames();
    return asked;
}

void plan(const Game& game, Bytes& bytes, Held held) {
    const Snapshot moment = snapshot(game, held);
    const Timing asked = timing(bytes);
    std::optional<Plan> one;
    try {
        one = Planner().plan(moment, asked);
    } catch (const std::invalid_argument&) {
        return;
    }
    require(Planner().plan(moment, asked) == *one, "a plan is a function of the moment");
    require(!one->any_safe() || one->safe[index(one->best)], "the best action is a safe one");
}

std::vector<std::uint8_t> played(const std::uint8_t* data, std::size_t size) {
    Bytes bytes(data, size);
    const auto seed = bytes.take<std::int64_t>();
    const Course course{bytes.flag() ? CourseStyle::kStaged : CourseStyle::kOriginal, seed};
    const GameOptions options{bytes.flag(), bytes.flag()};
    Game game(seed, course, options);
    game.press_jump();
    std::vector<std::uint8_t> record;
    Held held = Held::kRun;
    int questions = 0;
    while (!bytes.empty()) {
        const int keys = bytes.take<std::uint8_t>();
        if ((keys & 1) != 0) game.press_jump();
        if ((keys & 2) != 0) {
            game.press_duck();
            held = Held::kDuck;
        }
        if ((keys & 4) != 0) {
            game.release_duck();
            held = Held::kRun;
        }
        if (game.crashed() && (keys & 8) != 0) game.restart();
        for (int frames = (keys >> 4) + 1; frames > 0; --frames) game.step();
        if (keys == 0xF0 && questions++ < kMostQuestions) plan(game, bytes, held);
        require(game.speed() >= 0 && game.speed() <= 13.001, "speed");
        require(game.score() >= 0 && game.high_score() >= 0 && game.deaths() >= 0, "scores");
        append_record(game, record);
    }
    return record;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    require(played(data, size) == played(data, size), "the same keys give the same game");
    return 0;
}
