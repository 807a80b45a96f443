// Rules and line-ups for the arena's targets.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "arena/core/sim.h"
#include "fuzz/fuzz.h"

namespace sysone::fuzz {

// The rules of the first season or the second, from the folder that SYSONE_FUZZ_RULES names.
inline std::shared_ptr<const arena::Rules> rules(bool second) {
    const auto read = [](const char* name) {
        const char* folder = std::getenv("SYSONE_FUZZ_RULES");
        std::ifstream file(std::string(folder == nullptr ? "." : folder) + "/" + name);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        require(!text.empty(), "SYSONE_FUZZ_RULES names the folder of the rules");
        return std::make_shared<const arena::Rules>(text);
    };
    static const std::shared_ptr<const arena::Rules> both[] = {read("2026.json"),
                                                               read("2027.json")};
    return both[second ? 1 : 0];
}

// A match on decks that the bytes choose: any model in any slot, more of a kind than the rules of a
// deck allow, too.
inline std::unique_ptr<arena::Sim> new_match(Bytes& bytes, arena::Word ticks) {
    const auto season = rules(bytes.flag());
    const auto models = static_cast<int>(season->models().size());
    arena::Lineups lineups;
    lineups.deck = true;
    for (auto& side : lineups.sides) {
        const int count = bytes.between(1, 5);
        for (int slot = 1; slot <= count; ++slot) {
            const auto chosen = static_cast<std::size_t>(bytes.between(0, models - 1));
            side.push_back({slot, season->models()[chosen].number});
        }
    }
    const auto seed = bytes.take<std::uint16_t>();
    return std::make_unique<arena::Sim>(season, lineups, seed, ticks);
}

}  // namespace sysone::fuzz
