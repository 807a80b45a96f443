#include "common/xxh64.h"

#include <bit>
#include <cstring>

namespace sysone {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5;

static_assert(std::endian::native == std::endian::little, "lanes are read as they lie in memory");

template <typename Word>
Word read(const std::uint8_t* at) noexcept {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

std::uint64_t mix(std::uint64_t lane, std::uint64_t input) noexcept {
    return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) noexcept {
    return (hash ^ mix(0, lane)) * kPrime1 + kPrime4;
}

}  // namespace

std::uint64_t xxh64(std::span<const std::uint8_t> data, std::uint64_t seed) noexcept {
    const std::uint8_t* at = data.data();
    std::size_t left = data.size();
    std::uint64_t hash = seed + kPrime5;
    if (left >= 32) {
        std::uint64_t a = seed + kPrime1 + kPrime2;
        std::uint64_t b = seed + kPrime2;
        std::uint64_t c = seed;
        std::uint64_t d = seed - kPrime1;
        for (; left >= 32; left -= 32, at += 32) {
            a = mix(a, read<std::uint64_t>(at));
            b = mix(b, read<std::uint64_t>(at + 8));
            c = mix(c, read<std::uint64_t>(at + 16));
            d = mix(d, read<std::uint64_t>(at + 24));
        }
        hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
        for (const std::uint64_t lane : {a, b, c, d}) hash = merge(hash, lane);
    }
    hash += data.size();
    for (; left >= 8; left -= 8, at += 8) {
        hash = std::rotl(hash ^ mix(0, read<std::uint64_t>(at)), 27) * kPrime1 + kPrime4;
    }
    if (left >= 4) {
        hash = std::rotl(hash ^ (read<std::uint32_t>(at) * kPrime1), 23) * kPrime2 + kPrime3;
        left -= 4;
        at += 4;
    }
    for (; left > 0; --left, ++at) hash = std::rotl(hash ^ (*at * kPrime5), 11) * kPrime1;
    hash = (hash ^ (hash >> 33)) * kPrime2;
    hash = (hash ^ (hash >> 29)) * kPrime3;
    return hash ^ (hash >> 32);
}

}  // namespace sysone
