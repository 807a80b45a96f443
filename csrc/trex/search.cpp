#include "trex/search.h"

#include <algorithm>
#include <bit>

namespace sysone::trex {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;

std::uint64_t hash(const TrexState& state) {
    const std::uint64_t flags =
        static_cast<std::uint64_t>(state.jumping) | static_cast<std::uint64_t>(state.ducking) << 1 |
        static_cast<std::uint64_t>(state.speed_drop) << 2 |
        static_cast<std::uint64_t>(state.reached) << 3 |
        static_cast<std::uint64_t>(state.pose) << 4 |
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(state.y)) << 8;
    const std::uint64_t mixed = (std::bit_cast<std::uint64_t>(state.velocity) * kGolden) ^ flags;
    return (mixed ^ (mixed >> 29)) * kGolden;
}

bool holds_key(Action action, Held held) { return action == as_action(held); }

}  // namespace

// ---- motions ----

MotionGraph::MotionGraph() : slots_(512, kDead) {
    states_.reserve(256);
    edges_.reserve(512);
}

MotionGraph::Node MotionGraph::intern(const TrexState& state) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash(state) >> 32) & mask;
    while (slots_[at] != kDead) {
        if (states_[static_cast<std::size_t>(slots_[at])] == state) return slots_[at];
        at = (at + 1) & mask;
    }
    const auto node = static_cast<Node>(states_.size());
    slots_[at] = node;
    states_.push_back(state);
    edges_.resize(edges_.size() + 2);
    if (states_.size() * 2 > slots_.size()) grow();
    return node;
}

void MotionGraph::grow() {
    slots_.assign(slots_.size() * 2, kDead);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = 0; i < states_.size(); ++i) {
        std::size_t at = static_cast<std::size_t>(hash(states_[i]) >> 32) & mask;
        while (slots_[at] != kDead) at = (at + 1) & mask;
        slots_[at] = static_cast<Node>(i);
    }
}

MotionGraph::Edge MotionGraph::compute(Node node, Held held) {
    const TrexState fallen = fall(enforce(state(node), held));
    Edge edge;
    edge.y = static_cast<std::int16_t>(fallen.y);
    edge.ducking = fallen.ducking;
    edge.next = intern(settle(fallen));
    edges_[static_cast<std::size_t>(node) * 2 + static_cast<std::size_t>(held)] = edge;
    return edge;
}

// ---- memo ----

Search::Memo::Memo() : slots_(1024, 0), shift_(64 - 10) {}

Search::Memo::Verdict Search::Memo::enter(std::uint64_t key) {
    const std::size_t at = slot(key);
    if (slots_[at] != 0) return static_cast<Verdict>(slots_[at] & 3U);
    slots_[at] = key << 2 | static_cast<std::uint64_t>(Verdict::kLost);
    if (++size_ * 2 > slots_.size()) grow();
    return Verdict::kNone;
}

void Search::Memo::set_won(std::uint64_t key) {
    slots_[slot(key)] = key << 2 | static_cast<std::uint64_t>(Verdict::kWon);
}

void Search::Memo::grow() {
    std::vector<std::uint64_t> old(slots_.size() * 2, 0);
    old.swap(slots_);
    --shift_;
    for (const std::uint64_t entry : old) {
        if (entry != 0) slots_[slot(entry >> 2)] = entry;
    }
}

// ---- search ----

Search::Search(const World& world, MotionGraph& motions, Window gap, int horizon,
               std::optional<int> period)
    : world_(world),
      motions_(motions),
      jumps_(static_cast<std::size_t>(world.horizon()) + 2, MotionGraph::kDead),
      gap_(gap),
      horizon_(horizon),
      period_(period.value_or(0)) {}

Search::Node Search::run_frames(Node node, Held held, int start, int count) {
    for (int k = start + 1; k <= start + count; ++k) {
        if (!play(node, held, k)) return MotionGraph::kDead;
    }
    return node;
}

Search::Node Search::press(Node node, Action action, int k) {
    const TrexState& state = motions_.state(node);
    if (action != Action::kJump || state.jumping) return node;
    const double speed = world_.press_speed(k + 1);
    if (state.y != kGroundY) return motions_.intern(impulse_jump(state, speed));
    Node& jump = jumps_[static_cast<std::size_t>(std::min(k + 1, world_.horizon() + 1))];
    if (jump == MotionGraph::kDead) jump = motions_.intern(impulse_jump(state, speed));
    return jump;
}

Search::Options Search::options(Node node, Held held, int k, Lock lock) const {
    Options found;
    const auto add = [&](Action action) {
        found.actions[static_cast<std::size_t>(found.size++)] = action;
    };
    const bool locked = lock.holds(k);
    if (locked && lock.only_duck()) {
        add(Action::kDuck);
        return found;
    }

    // the held key first, the rest in the order jump, duck, run on the ground, run, jump, duck
    // above
    const bool may_jump = !locked;
    if (motions_.state(node).jumping) {
        if (held == Held::kDuck) {
            add(Action::kDuck);
        } else {
            add(Action::kRun);
            if (gap_.lo > 2 && may_jump) add(Action::kJump);
            add(Action::kDuck);
        }
    } else if (held == Held::kDuck) {
        add(Action::kDuck);
        if (may_jump) add(Action::kJump);
        add(Action::kRun);
    } else {
        add(Action::kRun);
        if (may_jump) add(Action::kJump);
        if (world_.birds()) add(Action::kDuck);
    }
    return found;
}

bool Search::lands(Node node, Held held, Action action, int t, Window window, Lock lock) {
    // an answer that changes nothing may land whenever it likes
    if (period_ > 0 && holds_key(action, held)) return waits(node, held, t, lock);

    node = run_frames(node, held, t, window.lo);
    for (int g = window.lo; g <= window.hi; ++g) {
        if (node == MotionGraph::kDead) return false;
        if (t + g >= horizon_) return true;
        const Node pressed = press(node, action, t + g);
        const bool won = period_ > 0 ? waits(pressed, after(action), t + g, lock)
                                     : wins(t + g, pressed, after(action), g > 0, lock);
        if (!won) return false;
        if (g < window.hi && !play(node, held, t + g + 1)) node = MotionGraph::kDead;
    }
    return true;
}

bool Search::waits(Node node, Held held, int t, Lock lock) {
    for (int d = 0; d <= period_; ++d) {
        if (t + d >= horizon_) return true;
        if (d >= 1 && !wins(t + d, node, held, true, lock)) return false;
        if (d < period_ && !play(node, held, t + d + 1)) return false;
    }
    return true;
}

bool Search::wins(int t, Node node, Held held, bool zero_ok, Lock lock) {
    if (period_ == 0 && t >= horizon_) return true;
    // node 30 bits, t and the lock's frame 14 each, its kind 2, held and zero one each: 62
    const std::uint64_t key = static_cast<std::uint64_t>(node) << 32 |
                              static_cast<std::uint64_t>(t) << 18 | lock.key() << 2 |
                              static_cast<std::uint64_t>(held) << 1 |
                              static_cast<std::uint64_t>(zero_ok);
    const Memo::Verdict known = memo_.enter(key);
    if (known != Memo::Verdict::kNone) return known == Memo::Verdict::kWon;
    const bool won = some_option_lands(t, node, held, zero_ok, lock);
    if (won) memo_.set_won(key);
    return won;
}

bool Search::some_option_lands(int t, Node node, Held held, bool zero_ok, Lock lock) {
    // two answers may land on one frame, but not a third
    const Window gap = !zero_ok && gap_.lo == 0 ? Window{1, gap_.hi + 1} : gap_;
    const Options choices = options(node, held, t, lock);
    for (int i = 0; i < choices.size; ++i) {
        if (lands(node, held, choices.actions[static_cast<std::size_t>(i)], t, gap, lock)) {
            return true;
        }
    }
    return false;
}

}  // namespace sysone::trex
