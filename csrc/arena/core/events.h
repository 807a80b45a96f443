// What happened in a tick, for observations, results and replays.
#pragma once

#include <array>
#include <string>

#include "arena/core/numbers.h"

namespace sysone::arena {

enum class Name : Word {
#define ARENA_NAME(name) k_##name,
#include "arena/core/names.def"
#undef ARENA_NAME
};
const char* text_of(Name name);

enum class EventType : Word {
#define ARENA_EVENT(name, fields) k_##name,
#include "arena/core/events.def"
#undef ARENA_EVENT
};

struct Event {
    Word tick = 0;
    EventType type = EventType::k_match_start;
    std::array<Word, 4> values{};
    Word teams = 3;  // bits of the teams it concerns
};

// Ids of robots, teams and buildings in events.
inline constexpr Word kNobody = -1;
inline constexpr Word kBaseSlot = 32;
inline constexpr Word kOutpostSlot = 33;
inline constexpr Word kDartSlot = 34;
constexpr Word event_id(int team, int slot) { return static_cast<Word>(team << 8 | slot); }
constexpr Word team_id(int team) { return event_id(team, 0); }

void append_event_id(std::string& out, Word id);
void append_zone(std::string& out, Word bit);
void append_event(std::string& out, const Event& event);

}  // namespace sysone::arena
