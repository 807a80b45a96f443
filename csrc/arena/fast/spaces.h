// Observations and actions as rows of numbers, each side's as if it were red: blue's field is
// turned round. sysone.arena.sdk.arrays makes the same of the JSON forms, and its documentation
// names every column.
#pragma once

#include <cstdint>

#include "arena/core/sim.h"
#include "arena/fast/navigator.h"

namespace sysone::arena {

inline constexpr int kOwnColumns = 48;
inline constexpr int kMateColumns = 24;
inline constexpr int kEnemyColumns = 16;
inline constexpr int kGlobalColumns = 40;

enum class Order : Word {
    kNone,
    kBuyMuch,
    kBuyLittle,
    kRemoteAmmo,
    kRemoteHeal,
    kRevive,
    kPostureMove,
    kPostureAttack,
    kPostureDefence,
    kRune,
    kPick,
    kAssemble,
    kMount,
    kDeploy,
    kUndeploy,
    kAerial
};
inline constexpr Word kOrders = 16;

// Where a side's numbers are written.
struct SideArrays {
    float* own;      // [rows][kOwnColumns]
    float* mates;    // [rows][kMateColumns]
    float* enemies;  // [rows][kEnemyColumns]
    float* globals;  // [kGlobalColumns]
};

// Where a side's wishes are read.
struct SideWishes {
    const float* move;          // [rows][2]
    const float* spin;          // [rows]
    const std::int32_t* fire;   // [rows], 0 or 1
    const std::int32_t* aim;    // [rows], 0 the engine's own, then enemy rows, base, outpost, rune
    const std::int32_t* order;  // [rows], an Order
};

// The rows of a side: its robots in the order of slots, whether they are in the match or not.
class Spaces {
  public:
    Spaces(std::shared_ptr<const Rules> rules, const Lineups& lineups, int rows);

    int rows() const noexcept { return rows_; }
    int aims() const noexcept { return rows_ + 4; }
    void observe(Sim& sim, int team, Navigator& navigator, const SideArrays& into) const;
    // What a row cannot do is left out; numbers are cut to their ranges, and those that are not
    // finite count as 0.
    SideAction read(int team, const SideWishes& wishes) const;
    // Puts the ways to goals in the place of moves, where rows have one: 0 none, else from kGoals.
    void steer(Sim& sim, int team, const std::int32_t* go, Navigator& navigator,
               SideAction& action) const;
    bool can(int team, int row, Order order) const;

  private:
    const Model* kind(int team, int row) const {
        return models_[static_cast<std::size_t>(team)][static_cast<std::size_t>(row)];
    }
    void give(int team, int row, Order order, RobotAction& action) const;

    std::shared_ptr<const Rules> rules_;
    int rows_ = 0;
    std::array<std::vector<const Model*>, kTeams> models_;
    std::array<std::vector<Word>, kTeams> slots_;
    std::array<std::array<int, kSlots>, kTeams> row_of_{};
};

}  // namespace sysone::arena
