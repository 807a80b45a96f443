// XXH64 (the xxHash specification 0.1.1, 64-bit variant), for digests of simulator states.
#pragma once

#include <cstdint>
#include <span>

namespace sysone {

std::uint64_t xxh64(std::span<const std::uint8_t> data, std::uint64_t seed = 0) noexcept;

}  // namespace sysone
