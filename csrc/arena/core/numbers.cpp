#include "arena/core/numbers.h"

#include <array>
#include <bit>

namespace sysone::arena {
namespace {
#include "arena/core/tables.inc"
}

std::uint64_t isqrt(std::uint64_t value) noexcept {
    if (value == 0) return 0;
    std::uint64_t root = 0;
    // without branches, which would be guessed wrong half of the time
    for (std::uint64_t bit = std::uint64_t{1} << ((63 - std::countl_zero(value)) & ~1); bit != 0;
         bit >>= 2) {
        const std::uint64_t trial = root + bit;
        const std::uint64_t fits = 0 - static_cast<std::uint64_t>(value >= trial);
        value -= trial & fits;
        root = (root >> 1) + (bit & fits);
    }
    return root;
}

Word sine(Word angle) noexcept {
    const auto masked = static_cast<std::uint32_t>(angle) & kTurnMask;
    const std::uint32_t i = masked >> 8;
    const auto f = static_cast<Word>(masked & 255);
    return kSin[i] + static_cast<Word>(Wide{kSin[i + 1] - kSin[i]} * f / 256);
}

Word atan2(Wide y, Wide x) noexcept {
    if (x == 0 && y == 0) return 0;
    Word offset = 0;
    if (x < 0 || (x == 0 && y < 0)) {
        x = -x;
        y = -y;
        offset = kHalfTurn;
    }
    // scaled so that the larger one has its top bit at 2^29
    const Wide largest = x > (y < 0 ? -y : y) ? x : (y < 0 ? -y : y);
    const int top = 63 - std::countl_zero(static_cast<std::uint64_t>(largest));
    if (top > 29) {
        x /= Wide{1} << (top - 29);
        y /= Wide{1} << (top - 29);
    } else {
        x *= Wide{1} << (29 - top);
        y *= Wide{1} << (29 - top);
    }
    Wide angle = 0;
    for (std::size_t k = 0; k < kAtan.size(); ++k) {
        const Wide step = Wide{1} << k;
        const Wide dx = y / step;
        const Wide dy = x / step;
        if (y >= 0) {
            x += dx;
            y -= dy;
            angle += kAtan[k];
        } else {
            x -= dx;
            y += dy;
            angle -= kAtan[k];
        }
    }
    const Wide rounded = (angle < 0 ? angle - 512 : angle + 512) / 1024;
    return wrap(rounded + offset);
}

}  // namespace sysone::arena
