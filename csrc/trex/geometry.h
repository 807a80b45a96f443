// Axis-aligned boxes and the game's roundings.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>

namespace sysone::trex {

struct Box {
    int x;
    int y;
    int width;
    int height;

    friend bool operator==(const Box&, const Box&) = default;
};

// Strict on all sides: touching edges do not overlap.
constexpr bool overlap(const Box& a, const Box& b) {
    return a.x < b.x + b.width && a.x + a.width > b.x && a.y < b.y + b.height &&
           a.y + a.height > b.y;
}

constexpr Box shifted(const Box& box, int x, int y) {
    return {box.x + x, box.y + y, box.width, box.height};
}

// A few boxes held in place; the game's shapes have at most six.
class BoxList {
  public:
    static constexpr std::size_t kCapacity = 8;

    constexpr BoxList() = default;
    constexpr BoxList(std::initializer_list<Box> boxes) {
        for (const Box& box : boxes) push_back(box);
    }

    constexpr void push_back(const Box& box) {
        if (size_ == kCapacity) throw std::length_error("boxes: at most 8 collision boxes");
        boxes_[size_++] = box;
    }
    constexpr std::size_t size() const { return size_; }
    constexpr Box& operator[](std::size_t i) { return boxes_[i]; }
    constexpr const Box& operator[](std::size_t i) const { return boxes_[i]; }
    constexpr const Box* begin() const { return boxes_.data(); }
    constexpr const Box* end() const { return boxes_.data() + size_; }

    friend constexpr bool operator==(const BoxList& a, const BoxList& b) {
        if (a.size_ != b.size_) return false;
        for (std::size_t i = 0; i < a.size_; ++i) {
            if (!(a.boxes_[i] == b.boxes_[i])) return false;
        }
        return true;
    }

  private:
    std::array<Box, kCapacity> boxes_{};
    std::size_t size_ = 0;
};

// JavaScript's Math.round: halves go up, also for negative values.
inline int js_round(double value) { return static_cast<int>(std::floor(value + 0.5)); }

// Python's round to an integer: halves go to the even neighbour (the default rounding mode).
inline int round_half_even(double value) { return static_cast<int>(std::nearbyint(value)); }

}  // namespace sysone::trex
