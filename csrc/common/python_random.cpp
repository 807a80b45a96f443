#include "common/python_random.h"

#include <cmath>
#include <span>
#include <vector>

#include "common/sha512.h"

namespace sysone {
namespace {

constexpr std::size_t kWords = 624;
constexpr std::size_t kShift = 397;
using State = std::array<std::uint32_t, kWords>;

constexpr State seeded_state(std::uint32_t seed) {
    State state{};
    state[0] = seed;
    for (std::uint32_t i = 1; i < kWords; ++i) {
        state[i] = 1812433253U * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
    }
    return state;
}

// init_by_array always starts from this seed (Matsumoto and Nishimura, mt19937ar).
constexpr State kArrayStart = seeded_state(19650218U);

void init_by_array(State& state, std::span<const std::uint32_t> key) {
    state = kArrayStart;
    std::size_t i = 1;
    std::size_t j = 0;
    const auto wrap = [&] {
        if (++i == kWords) {
            state[0] = state[kWords - 1];
            i = 1;
        }
    };
    for (std::size_t k = std::max(kWords, key.size()); k > 0; --k) {
        const std::uint32_t previous = state[i - 1];
        state[i] = (state[i] ^ ((previous ^ (previous >> 30)) * 1664525U)) + key[j] +
                   static_cast<std::uint32_t>(j);
        wrap();
        if (++j == key.size()) j = 0;
    }
    for (std::size_t k = kWords - 1; k > 0; --k) {
        const std::uint32_t previous = state[i - 1];
        state[i] = (state[i] ^ ((previous ^ (previous >> 30)) * 1566083941U)) -
                   static_cast<std::uint32_t>(i);
        wrap();
    }
    state[0] = 0x80000000U;
}

// The text and its digest as one big-endian integer, in words from the least significant on;
// leading zero words are dropped, at least one word stays.
std::vector<std::uint32_t> seed_words(std::string_view text) {
    std::vector<std::uint8_t> bytes(text.begin(), text.end());
    const auto digest = sha512(bytes);
    bytes.insert(bytes.end(), digest.begin(), digest.end());

    std::vector<std::uint32_t> words((bytes.size() + 3) / 4, 0);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        words[i / 4] |= static_cast<std::uint32_t>(bytes[bytes.size() - 1 - i]) << (8 * (i % 4));
    }
    while (words.size() > 1 && words.back() == 0) words.pop_back();
    return words;
}

}  // namespace

PythonRandom::PythonRandom(std::string_view text) { init_by_array(state_, seed_words(text)); }

std::uint32_t PythonRandom::next_word() {
    const std::size_t i = next_;
    const std::size_t following = i + 1 == kWords ? 0 : i + 1;
    const std::size_t shifted = i + kShift < kWords ? i + kShift : i + kShift - kWords;
    const std::uint32_t mixed = (state_[i] & 0x80000000U) | (state_[following] & 0x7fffffffU);
    state_[i] = state_[shifted] ^ (mixed >> 1) ^ ((mixed & 1U) != 0 ? 0x9908b0dfU : 0U);
    next_ = following;

    std::uint32_t word = state_[i];
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680U;
    word ^= (word << 15) & 0xefc60000U;
    return word ^ (word >> 18);
}

double PythonRandom::random() {
    const std::uint32_t high = next_word() >> 5;
    const std::uint32_t low = next_word() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

int PythonRandom::random_int(int low, int high) {
    return static_cast<int>(std::floor(random() * (high - low + 1))) + low;
}

}  // namespace sysone
