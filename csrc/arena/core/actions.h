// What a strategy wants, read from its JSON text and checked in full before anything is applied.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arena/core/numbers.h"
#include "arena/core/rules.h"
#include "arena/core/state.h"

namespace sysone::arena {

inline constexpr std::size_t kMostActionBytes = 64 * 1024;
inline constexpr int kMostActionDepth = 8;

struct ActionError {
    std::string code;
    std::string path;
    int slot = 0;  // of the robot's own strategy, 0 for a team's
};

enum class Aim : Word { kNearest, kRobot, kBase, kOutpost, kRune, kPoint, kAngles };
enum class Fire : Word { kNo, kAimed, kFree };
enum class Limiter : Word { kSafe, kBoost, kRaw };
enum class Buy : Word { kNothing, kAmmo17, kAmmo42, kRemoteAmmo, kRemoteHeal, kSentryMinute };
enum class Revive : Word { kKeep, kNo, kYes, kBuy };
enum class Support : Word { kKeep, kOff, kOwn, kPaid };
enum class Sortie : Word { kNone, kRecon, kStrike, kIntercept };
inline constexpr Word kKeep = -1;

struct Message {
    Word from = 0;  // slot, 0 for the team
    Word to = 0;    // bits of slots
    Word tick = 0;
    std::string text;
};

struct RobotAction {
    bool controlled = false;  // whether the strategy named this robot
    Word move_x = 0, move_y = 0;
    bool move_body = false;
    Word heading = kKeep;
    Word spin = 0;
    bool follow = false;
    Aim aim = Aim::kNearest;
    std::array<Word, 3> aim_at{};
    Fire fire = Fire::kNo;
    bool guard = true;
    Limiter limiter = Limiter::kSafe;
    Buy buy = Buy::kNothing;
    Word buy_amount = 0;
    Revive revive = Revive::kKeep;
    Word posture = kKeep;
    Word strong = kKeep;
    Word deploy = kKeep;
    bool rune = false, pick = false, assemble = false, mount = false;
    Support support = Support::kKeep;
    Sortie sortie = Sortie::kNone;
    Word sortie_x = 0, sortie_y = 0;
    Word sortie_target = 0;
    std::optional<Message> say;
    bool by_team = false;  // a team-mode strategy's order, which may cost coins
};

struct TeamAction {
    Word dart_target = kKeep;  // opens the gate
    bool focus_given = false;
    Word focus = 0;  // bits of enemy slots
    bool radar_double = false;
    bool radar_counter = false;
    std::optional<RobotAction> sentry;  // buy, revive, posture and strong alone
    std::optional<Message> say;
};

struct SideAction {
    std::array<RobotAction, kSlots> robots;  // by slot
    TeamAction team;
};

// What the reader must know of the match: who there is and what each may do.
struct Roster {
    int team = 0;
    std::array<const Model*, kSlots> own{};
    std::array<const Model*, kSlots> enemy{};
    std::array<Word, kSlots> messages_left{};  // of each robot in this second
    bool second = false;                       // season 2027
};

// Reads the action of a team-mode strategy (slot 0) or of one robot's (its slot). On an error
// nothing of the action counts.
std::optional<ActionError> read_action(std::string_view text, const Rules& rules,
                                       const Roster& roster, int slot, SideAction& into);

}  // namespace sysone::arena
