// The random streams of CPython's random.Random(text), bit for bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sysone {

// MT19937 seeded from UTF-8 text as CPython's seeding version 2 does: the text followed by its
// SHA-512 digest, read as one big-endian integer, cut into 32-bit words from the low end and given
// to init_by_array. Short streams are the rule here, so the state is twisted one word at a time, as
// it is drawn, instead of 624 words at once.
class PythonRandom {
  public:
    explicit PythonRandom(std::string_view text);

    // The next double in [0, 1) with 53 random bits.
    double random();

    // floor(random() * (high - low + 1)) + low: one draw, also for low == high.
    int random_int(int low, int high);

    // randbelow(count), on which choice() stands: words are drawn until their high bits fit.
    int below(int count);

  private:
    friend class PythonRandomPrefix;
    static constexpr std::size_t kWords = 624;

    std::uint32_t next_word();

    std::array<std::uint32_t, kWords> state_;
    std::size_t next_ = 0;
};

// The same stream, prepared together with others: seeding is a chain of dependent multiplications,
// so eight chains side by side cost little more than one. Only the first words are kept; a stream
// that draws beyond them is seeded anew in full.
class PythonRandomPrefix {
  public:
    static constexpr std::size_t kLanes = 8;

    static std::array<PythonRandomPrefix, kLanes> prepare(std::array<std::string, kLanes> texts);

    double random();
    int random_int(int low, int high);

  private:
    static constexpr std::size_t kKept = 32;

    std::uint32_t next_word();

    std::string text_;
    std::array<std::uint32_t, kKept> words_{};
    std::size_t next_ = 0;
    std::optional<PythonRandom> whole_;
};

}  // namespace sysone
