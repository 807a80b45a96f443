// Scenarios: a changed start, as JSON. One that is refused has a code and leaves the match as a
// fresh one; one that is accepted is played, keeps every invariant, and gives the same match when
// it is set again.
//
//   input: what new_match reads, then the scenario
#include <string>

#include "arena/invariants.h"
#include "fuzz/arena_world.h"

using namespace sysone::arena;
using sysone::fuzz::Bytes;
using sysone::fuzz::require;

namespace {

std::uint64_t played(Sim& sim) {
    check_invariants(sim);
    sim.act(0, R"({"1":{"move":[1,0],"fire":true}})");
    sim.act(1, R"({"1":{"move":[0.5,-1],"spin":1}})");
    sim.advance(20);
    check_invariants(sim);
    std::string seen;
    for (int team = 0; team < kTeams; ++team) sim.observe(team, true, 0, seen);
    return sim.tick_digest();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes bytes(data, size);
    const auto sim = new_match(bytes, 8400);
    const std::uint64_t seed = sim->seed();
    const std::string fresh = sim->canon();
    const std::string scenario(bytes.text());
    const auto error = sim->reset(seed, scenario);
    if (error) {
        require(!error->code.empty(), "a refusal has a code");
        require(sim->canon() == fresh, "a refused scenario leaves a fresh match");
        return 0;
    }
    const std::string start = sim->canon();
    const std::uint64_t digest = played(*sim);
    require(!sim->reset(seed, scenario), "what was accepted is accepted again");
    require(sim->canon() == start && played(*sim) == digest, "and is the same match");
    require(!sim->reset(seed) && sim->canon() == fresh, "a fresh match comes back");
    return 0;
}
