// The state of a match. Each struct is a row of 32-bit words without padding, so that its memory is
// its canonical encoding:
//
//   u32 format | u32 tick | u8 phase | match words | red words | blue words
//   | robots' words in (team, slot) order | u16 n, projectiles' words by id | u16 n, event codes
#pragma once

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "arena/core/numbers.h"

namespace sysone::arena {

inline constexpr int kTeams = 2;
inline constexpr int kSlots = 8;  // slot numbers are 1 to 7
inline constexpr Word kCanonFormat = 1;

struct MatchState {
#define ARENA_MATCH(name, text) Word name = 0;
#define ARENA_MATCH_LIST(name, n, text) std::array<Word, n> name{};
#include "arena/core/state_fields.def"
};

struct TeamState {
#define ARENA_TEAM(name, text) Word name = 0;
#define ARENA_TEAM_LIST(name, n, text) std::array<Word, n> name{};
#include "arena/core/state_fields.def"
};

struct RobotState {
#define ARENA_ROBOT(name, text) Word name = 0;
#define ARENA_ROBOT_LIST(name, n, text) std::array<Word, n> name{};
#include "arena/core/state_fields.def"
};

struct Projectile {
#define ARENA_PROJECTILE(name, text) Word name = 0;
#include "arena/core/state_fields.def"
};

static_assert(std::has_unique_object_representations_v<MatchState>);
static_assert(std::has_unique_object_representations_v<TeamState>);
static_assert(std::has_unique_object_representations_v<RobotState>);
static_assert(std::has_unique_object_representations_v<Projectile>);

enum class Phase : std::uint8_t { kRunning = 0, kEnded = 1 };

struct State {
    Word tick = 0;
    Phase phase = Phase::kRunning;
    MatchState match;
    std::array<TeamState, kTeams> teams;
    std::vector<RobotState> robots;  // in (team, slot) order
    std::vector<Projectile> projectiles;
};

struct FieldText {
    const char* group;
    const char* name;
    int count;
    const char* text;
};
const std::vector<FieldText>& state_fields();
std::string state_json(const State& state);

}  // namespace sysone::arena
