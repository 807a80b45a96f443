#include "common/python_random.h"

#include <bit>
#include <cmath>
#include <span>
#include <stdexcept>
#include <utility>
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

std::uint32_t twist(std::uint32_t word, std::uint32_t following, std::uint32_t shifted) {
    const std::uint32_t mixed = (word & 0x80000000U) | (following & 0x7fffffffU);
    return shifted ^ (mixed >> 1) ^ ((mixed & 1U) != 0 ? 0x9908b0dfU : 0U);
}

std::uint32_t temper(std::uint32_t word) {
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680U;
    word ^= (word << 15) & 0xefc60000U;
    return word ^ (word >> 18);
}

// 53 bits from two words, the first one high.
double to_double(std::uint32_t first, std::uint32_t second) {
    return ((first >> 5) * 67108864.0 + (second >> 6)) / 9007199254740992.0;
}

int scaled(double random, int low, int high) {
    return static_cast<int>(std::floor(random * (high - low + 1))) + low;
}

}  // namespace

PythonRandom::PythonRandom(std::string_view text) { init_by_array(state_, seed_words(text)); }

std::uint32_t PythonRandom::next_word() {
    const std::size_t i = next_;
    const std::size_t following = i + 1 == kWords ? 0 : i + 1;
    const std::size_t shifted = i + kShift < kWords ? i + kShift : i + kShift - kWords;
    state_[i] = twist(state_[i], state_[following], state_[shifted]);
    next_ = following;
    return temper(state_[i]);
}

double PythonRandom::random() {
    const std::uint32_t first = next_word();
    return to_double(first, next_word());
}

int PythonRandom::random_int(int low, int high) { return scaled(random(), low, high); }

int PythonRandom::below(int count) {
    const auto bound = static_cast<std::uint32_t>(count);
    const int bits = std::bit_width(bound);
    std::uint32_t drawn = bound;
    while (drawn >= bound) drawn = next_word() >> (32 - bits);
    return static_cast<int>(drawn);
}

std::array<PythonRandomPrefix, PythonRandomPrefix::kLanes> PythonRandomPrefix::prepare(
    std::array<std::string, kLanes> texts) {
    using Lanes = std::array<std::uint32_t, kLanes>;
    std::array<Lanes, kWords> state;
    std::array<Lanes, kWords> addend;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::vector<std::uint32_t> key = seed_words(texts[lane]);
        if (key.size() > kWords) throw std::length_error("text: too long to seed a stream");
        for (std::size_t k = 0, j = 0; k < kWords; ++k, j = j + 1 == key.size() ? 0 : j + 1) {
            addend[k][lane] = key[j] + static_cast<std::uint32_t>(j);
        }
        for (std::size_t i = 0; i < kWords; ++i) state[i][lane] = kArrayStart[i];
    }

    // init_by_array on all lanes, see above
    const auto mix = [&](std::size_t i, std::uint32_t factor, const Lanes& plus) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const std::uint32_t previous = state[i - 1][lane];
            state[i][lane] =
                (state[i][lane] ^ ((previous ^ (previous >> 30)) * factor)) + plus[lane];
        }
    };
    const auto minus = [](std::size_t i) {
        Lanes lanes;
        lanes.fill(0U - static_cast<std::uint32_t>(i));
        return lanes;
    };
    for (std::size_t i = 1; i < kWords; ++i) mix(i, 1664525U, addend[i - 1]);
    state[0] = state[kWords - 1];
    mix(1, 1664525U, addend[kWords - 1]);
    for (std::size_t i = 2; i < kWords; ++i) mix(i, 1566083941U, minus(i));
    state[0] = state[kWords - 1];
    mix(1, 1566083941U, minus(1));
    state[0].fill(0x80000000U);

    static_assert(kKept + kShift < kWords, "the kept words read only words not yet twisted");
    std::array<PythonRandomPrefix, kLanes> prepared;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        PythonRandomPrefix& stream = prepared[lane];
        for (std::size_t i = 0; i < kKept; ++i) {
            stream.words_[i] =
                temper(twist(state[i][lane], state[i + 1][lane], state[i + kShift][lane]));
        }
        stream.text_ = std::move(texts[lane]);
    }
    return prepared;
}

std::uint32_t PythonRandomPrefix::next_word() {
    if (next_ < kKept) return words_[next_++];
    if (!whole_) {
        whole_.emplace(text_);
        for (std::size_t i = 0; i < kKept; ++i) whole_->next_word();
    }
    return whole_->next_word();
}

double PythonRandomPrefix::random() {
    const std::uint32_t first = next_word();
    return to_double(first, next_word());
}

int PythonRandomPrefix::random_int(int low, int high) { return scaled(random(), low, high); }

}  // namespace sysone
