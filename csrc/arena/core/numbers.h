// Integer arithmetic of the simulator. Every function is exact, the same on every machine, and
// antisymmetric under a half turn of the field, which the mirror test relies on.
//
//   angles       1/2^20 turn, masked; a signed difference lies in (-2^19, 2^19]
//   sine, cosine scaled by 2^30
#pragma once

#include <cstdint>

namespace sysone::arena {

using Word = std::int32_t;
using Wide = std::int64_t;

inline constexpr Word kTurn = 1 << 20;
inline constexpr Word kHalfTurn = kTurn / 2;
inline constexpr Word kTurnMask = kTurn - 1;
inline constexpr Wide kUnit = Wide{1} << 30;
inline constexpr Word kTicksPerSecond = 20;
inline constexpr Word kTickMs = 50;

std::uint64_t isqrt(std::uint64_t value) noexcept;
Word sine(Word angle) noexcept;
inline Word cosine(Word angle) noexcept {
    return sine(static_cast<Word>((static_cast<std::uint32_t>(angle) + (1u << 18)) & kTurnMask));
}
Word atan2(Wide y, Wide x) noexcept;

inline Word wrap(Wide angle) noexcept { return static_cast<Word>(angle & kTurnMask); }

inline Word turn_between(Word from, Word to) noexcept {
    const Word difference = wrap(Wide{to} - from);
    return difference > kHalfTurn ? difference - kTurn : difference;
}

inline Wide length(Wide x, Wide y) noexcept {
    return static_cast<Wide>(isqrt(static_cast<std::uint64_t>(x * x + y * y)));
}

// 2 pi in the units that the rules are given in, for conversions to turns.
inline constexpr Wide kTwoPiMicro = 6283185;  // 10^6 * 2 pi

constexpr Wide turns_from_mrad(Wide mrad) noexcept { return mrad * kTurn * 1000 / kTwoPiMicro; }
constexpr Wide turns_from_microrad(Wide microrad) noexcept {
    // Whole turns are taken off first, so that the product stays far from overflow.
    return (microrad % kTwoPiMicro) * kTurn / kTwoPiMicro;
}
constexpr Wide turns_from_mdeg(Wide mdeg) noexcept { return mdeg * kTurn / 360000; }
constexpr Wide rate_from_mrad_s(Wide mrad_s) noexcept {
    return mrad_s * kTurn * 1000 / (kTwoPiMicro * kTicksPerSecond);
}
constexpr Wide mrad_s_from_rate(Wide rate) noexcept {
    return rate * kTwoPiMicro * kTicksPerSecond / (Wide{kTurn} * 1000);
}
constexpr Wide microrad_from_turns(Wide angle) noexcept { return angle * kTwoPiMicro / kTurn; }

}  // namespace sysone::arena
