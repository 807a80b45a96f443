// SHA-512 (FIPS 180-4), for seeding random streams from text as CPython does.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace sysone {

std::array<std::uint8_t, 64> sha512(std::span<const std::uint8_t> message);

}  // namespace sysone
