// Strict standard Base64 (RFC 4648, section 4) between borrowed buffers.
//
// Each function has one implementation per instruction set, chosen once at run time; the scalar
// one defines the result. Vectorised after W. Mula and D. Lemire, "Faster Base64 Encoding and
// Decoding Using AVX2 Instructions" (2018) and "Base64 Encoding and Decoding at Almost the Speed
// of a Memory Copy" (2020).
#pragma once

#include <cstddef>
#include <cstdint>

namespace drive {

enum class Simd : int { kScalar, kAvx2, kAvx512 };

Simd best_simd();  // of this processor

constexpr std::size_t base64_length(std::size_t raw) { return (raw + 2) / 3 * 4; }

constexpr std::size_t kNotBase64 = static_cast<std::size_t>(-1);

// Bytes that `length` characters decode to by their padding alone, or kNotBase64.
std::size_t decoded_length(const std::uint8_t* source, std::size_t length);

// Writes exactly decoded_length() bytes; false if a character is not of the alphabet. What was
// written before it is undefined.
bool base64_decode(const std::uint8_t* source, std::size_t length, std::uint8_t* target, Simd simd);

// Writes exactly base64_length(length) characters.
void base64_encode(const std::uint8_t* source, std::size_t length, std::uint8_t* target, Simd simd);

}  // namespace drive
