// Is there, whatever the delays, always a next key that keeps the dinosaur alive?
//
// A decision lands some frames after it was asked, anywhere in a window. `lands` asks whether an
// action is safe wherever in its window it lands; `wins` whether from a landing some further action
// is safe; together they are a game tree of our keys against the delays, searched to the horizon.
//
//   wins(t) ── some option ──▶ lands(t, lo..hi) ── every delay ──▶ wins(t + delay)
//
// With several requests in flight the next answer does not wait for the last one's question:
// `waits` then stands between lands and wins, for each frame until the next one may land.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trex/motion.h"
#include "trex/world.h"

namespace sysone::trex {

// States seen so far, each with a small number, and their transitions, each computed once. Played
// frames are then table look-ups, and a search position is one integer.
class MotionGraph {
  public:
    using Node = std::int32_t;
    static constexpr Node kDead = -1;

    struct Edge {
        Node next = kUnknown;
        std::int16_t y = 0;    // where the collision test finds the dinosaur
        bool ducking = false;  // and in which shape
    };

    MotionGraph();

    Node intern(const TrexState& state);
    const TrexState& state(Node node) const { return states_[static_cast<std::size_t>(node)]; }
    // One frame with a key held.
    Edge step(Node node, Held held) {
        const Edge edge =
            edges_[static_cast<std::size_t>(node) * 2 + static_cast<std::size_t>(held)];
        return edge.next != kUnknown ? edge : compute(node, held);
    }

  private:
    static constexpr Node kUnknown = -2;

    Edge compute(Node node, Held held);
    void grow();

    std::vector<TrexState> states_;
    std::vector<Edge> edges_;
    std::vector<Node> slots_;  // open addressing over states_, -1 for empty
};

// Frames from one event to the next, inclusive.
struct Window {
    int lo;
    int hi;
};

// Restricts the options until a frame: only ducking, or no jump. One word, as it is part of every
// position's key.
class Lock {
  public:
    Lock() = default;
    // `action` is kDuck or kJump.
    Lock(Action action, int until)
        : packed_(static_cast<std::uint32_t>(until) << 2 | (action == Action::kDuck ? 1U : 2U)) {}

    bool holds(int k) const { return packed_ != 0 && k < static_cast<int>(packed_ >> 2); }
    bool only_duck() const { return (packed_ & 3U) == 1U; }
    std::uint64_t key() const { return packed_; }

  private:
    std::uint32_t packed_ = 0;
};

class Search {
  public:
    using Node = MotionGraph::Node;

    // One request in flight: the next answer lands `gap` frames after the last. With a `period`
    // (frames, at least 1) several are: one lands at least every `period` frames, and one that
    // changes the key takes effect after `gap` frames.
    Search(const World& world, MotionGraph& motions, Window gap, int horizon,
           std::optional<int> period = std::nullopt);

    // `count` frames from frame start + 1 on with a key held; kDead on a hit.
    Node run_frames(Node node, Held held, int start, int count);
    // The key press itself, before frame `k` + 1.
    Node press(Node node, Action action, int k);
    // Is `action` safe when it lands anywhere in the window after frame `t`?
    bool lands(Node node, Held held, Action action, int t, Window window, Lock lock = {});

    // Positions in the memo.
    std::size_t states() const { return memo_.size(); }

  private:
    // A position is won, or not (yet): open addressing, the verdict in the low bits of the key.
    class Memo {
      public:
        Memo();
        enum class Verdict : std::uint8_t { kNone, kLost, kWon };
        // Enters the key as lost unless it is there; returns the verdict it had.
        Verdict enter(std::uint64_t key);
        void set_won(std::uint64_t key);
        std::size_t size() const { return size_; }

      private:
        // Fibonacci hashing: the high bits of the product spread neighbouring keys.
        std::size_t slot(std::uint64_t key) const {
            const std::size_t mask = slots_.size() - 1;
            auto at = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> shift_);
            while (slots_[at] != 0 && slots_[at] >> 2 != key) at = (at + 1) & mask;
            return at;
        }
        void grow();

        std::vector<std::uint64_t> slots_;
        std::size_t size_ = 0;
        int shift_;
    };

    struct Options {
        std::array<Action, kActions> actions{};
        int size = 0;
    };

    // One frame with a key held; false on a hit.
    bool play(Node& node, Held held, int k) {
        const MotionGraph::Edge edge = motions_.step(node, held);
        node = edge.next;
        return !world_.hit(k, edge.y, edge.ducking);
    }
    Options options(Node node, Held held, int k, Lock lock) const;
    bool wins(int t, Node node, Held held, bool zero_ok, Lock lock);
    bool some_option_lands(int t, Node node, Held held, bool zero_ok, Lock lock);
    bool waits(Node node, Held held, int t, Lock lock);

    const World& world_;
    MotionGraph& motions_;
    std::vector<Node> jumps_;  // a jump from the ground before frame k, once it was needed
    Window gap_;
    int horizon_;
    int period_;  // 0 with one request in flight
    Memo memo_;
};

}  // namespace sysone::trex
