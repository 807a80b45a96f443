// Whole matches over arrays, as batches are driven: wishes of any bits, not finite ones included.
// Invariants hold after every decision, and the same bytes give the same digests.
//
//   input: what new_match reads, then 44 bytes a robot and decision
#include <string>
#include <vector>

#include "arena/fast/spaces.h"
#include "arena/invariants.h"
#include "fuzz/arena_world.h"

using namespace sysone::arena;
using sysone::fuzz::Bytes;
using sysone::fuzz::require;

namespace {

constexpr int kRows = 5;
constexpr int kMostDecisions = 12;

struct Wishes {
    std::array<float, 2 * kRows> move{};
    std::array<float, kRows> spin{};
    std::array<std::int32_t, kRows> go{}, fire{}, aim{}, order{};
};

Wishes wishes(Bytes& bytes) {
    Wishes w;
    for (std::size_t row = 0; row < kRows; ++row) {
        // A byte each says how wild the row is: as an agent would have it, or any bits.
        if (bytes.between(0, 7) != 0) {
            w.move[2 * row] = static_cast<float>(bytes.take<std::int8_t>()) / 64.0f;
            w.move[2 * row + 1] = static_cast<float>(bytes.take<std::int8_t>()) / 64.0f;
            w.spin[row] = static_cast<float>(bytes.take<std::int8_t>()) / 64.0f;
            w.go[row] = bytes.between(0, 15);
            w.fire[row] = bytes.between(0, 1);
            w.aim[row] = bytes.between(0, kRows + 3);
            w.order[row] = bytes.between(0, kOrders - 1);
        } else {
            w.move[2 * row] = bytes.take<float>();
            w.move[2 * row + 1] = bytes.take<float>();
            w.spin[row] = bytes.take<float>();
            w.go[row] = bytes.take<std::int32_t>();
            w.fire[row] = bytes.take<std::int32_t>();
            w.aim[row] = bytes.take<std::int32_t>();
            w.order[row] = bytes.take<std::int32_t>();
        }
    }
    return w;
}

std::vector<std::uint64_t> played(const std::uint8_t* data, std::size_t size) {
    Bytes bytes(data, size);
    const auto sim = new_match(bytes, 2 * kMostDecisions);
    const auto season = sysone::fuzz::rules(sim->rules().is_2027());
    const Spaces spaces(season, sim->lineups(), kRows);
    // Its fields are made once for a season, as a batch shares them.
    static std::array<std::unique_ptr<Navigator>, 2> navigators;
    auto& made = navigators[season->is_2027() ? 1 : 0];
    if (made == nullptr) made = std::make_unique<Navigator>(season);
    Navigator& navigator = *made;
    std::vector<float> own(kRows * kOwnColumns), mates(kRows * kMateColumns),
        enemies(kRows * kEnemyColumns), globals(kGlobalColumns);
    std::vector<std::uint64_t> digests;
    for (int k = 0; k < kMostDecisions && !bytes.empty() && !sim->ended(); ++k) {
        for (int team = 0; team < kTeams; ++team) {
            sim->look();
            spaces.observe(*sim, team, navigator,
                           {own.data(), mates.data(), enemies.data(), globals.data()});
            const Wishes w = wishes(bytes);
            SideAction action = spaces.read(
                team, {w.move.data(), w.spin.data(), w.fire.data(), w.aim.data(), w.order.data()});
            spaces.steer(*sim, team, w.go.data(), navigator, action);
            sim->act(team, std::move(action));
        }
        sim->advance(2);
        check_invariants(*sim);
        digests.push_back(sim->tick_digest());
    }
    return digests;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    require(played(data, size) == played(data, size), "the same bytes give the same match");
    return 0;
}
