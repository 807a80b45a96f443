// Ways over the field: the same steering as sysone.arena.sdk.navigate, so that what plays here
// plays there. It is no part of the match, and may use floating point.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "arena/core/rules.h"

namespace sysone::arena {

struct Metres {
    double x = 0, y = 0;
};

// Cost fields are made once for a model and a goal and shared by all matches and threads.
class Navigator {
  public:
    explicit Navigator(std::shared_ptr<const Rules> rules);

    using Costs = std::vector<std::uint16_t>;
    // The field of a goal; it lives as long as the navigator.
    const Costs& costs(const Model& model, Metres goal);
    // The direction to move in, of length at most 1, in thousandths rounded as Python does it.
    Metres steer(const Costs& costs, Metres at, Metres goal) const;

  private:
    struct Key {
        Word model, x, y;
        auto operator<=>(const Key&) const = default;
    };
    int cell(double x, double y) const noexcept;
    int next(const Costs& costs, int from) const noexcept;
    bool clear(const Costs& costs, Metres at, int to) const noexcept;
    std::pair<int, int> ahead(const Costs& costs, int from, Metres at) const noexcept;

    std::shared_ptr<const Rules> rules_;
    std::mutex mutex_;
    std::map<Key, std::unique_ptr<Costs>> made_;
};

}  // namespace sysone::arena
