// The reader of what a strategy wants. Whatever the text, it is accepted or refused with a code and
// a path; reading is a function of the text, so that a second reading ends the same; numbers that
// are accepted lie in their ranges; and a match goes on with what was accepted.
//
//   input: what new_match reads, a byte for team and slot, then the text
#include <string>

#include "arena/invariants.h"
#include "fuzz/arena_world.h"

using namespace sysone::arena;
using sysone::fuzz::Bytes;
using sysone::fuzz::require;

namespace {

void check(const RobotAction& action) {
    const auto within = [](Word value, Word low, Word high, const char* what) {
        require(low <= value && value <= high, what);
    };
    within(action.move_x, -1000, 1000, "move x");
    within(action.move_y, -1000, 1000, "move y");
    within(action.spin, -1000, 1000, "spin");
    within(action.heading, kKeep, kTurn - 1, "heading");
    within(action.buy_amount, 0, 100000, "amount");
    within(action.posture, kKeep, 2, "posture");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes bytes(data, size);
    const auto sim = new_match(bytes, 200);
    const int who = bytes.take<std::uint8_t>();
    const int team = who & 1;
    const int slot = who >> 1 & 7;
    const std::string text(bytes.text());

    Roster roster;
    roster.team = team;
    roster.second = sim->rules().is_2027();
    roster.messages_left.fill(1);
    for (const RobotState& robot : sim->state().robots) {
        auto& side = robot.team == team ? roster.own : roster.enemy;
        side[static_cast<std::size_t>(robot.slot)] = sim->rules().model(robot.model);
    }
    SideAction action, again;
    const auto error = read_action(text, sim->rules(), roster, slot, action);
    const auto second = read_action(text, sim->rules(), roster, slot, again);
    require(error.has_value() == second.has_value(), "a text is accepted or not");
    if (error) {
        require(!error->code.empty() && error->code == second->code && error->path == second->path,
                "a refusal has a code and is repeated");
    } else {
        for (const RobotAction& robot : action.robots) check(robot);
        if (action.team.sentry) check(*action.team.sentry);
    }

    const auto refused = sim->act(team, text, slot);
    require(refused.has_value() == error.has_value() || refused->code == "too_many_messages",
            "a match reads as the reader does");
    sim->advance(10);
    check_invariants(*sim);
    std::string seen;
    sim->observe(team, true, 0, seen);
    return 0;
}
