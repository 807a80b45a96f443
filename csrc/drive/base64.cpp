#include "drive/base64.h"

#include <array>

#if defined(__x86_64__) && defined(__GNUC__)
#define DRIVE_X86 1
#include <immintrin.h>
#else
#define DRIVE_X86 0
#endif

namespace drive {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kInvalid = 0x80;

constexpr std::array<std::uint8_t, 256> make_values() {
    std::array<std::uint8_t, 256> values{};
    for (auto& value : values) value = kInvalid;
    for (std::uint8_t i = 0; i < 64; ++i) values[static_cast<std::uint8_t>(kAlphabet[i])] = i;
    return values;
}
constexpr std::array<std::uint8_t, 256> kValue = make_values();

// How far a vector loop came; the scalar code does the rest.
struct Progress {
    std::size_t source;
    std::size_t target;
};

#if DRIVE_X86

__attribute__((target("avx2"))) Progress decode_avx2(const std::uint8_t* source, std::size_t length,
                                                     std::uint8_t* target, std::size_t room) {
    // A character is valid when the class of its low nibble and that of its high nibble share no
    // bit; its value is the character plus an offset by high nibble, with '/' apart.
    const __m256i low_class =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
                                                  0x11, 0x11, 0x13, 0x1A, 0x1B, 0x1B, 0x1B, 0x1A));
    const __m256i high_class =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08,
                                                  0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10));
    const __m256i offset = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i nibble = _mm256_set1_epi8(0x0f);
    const __m256i slash = _mm256_set1_epi8('/');
    const __m256i order = _mm256_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1,
                                           2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
    Progress done{0, 0};
    while (length - done.source >= 32 && room - done.target >= 32) {
        const __m256i text =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + done.source));
        const __m256i high = _mm256_and_si256(_mm256_srli_epi32(text, 4), nibble);
        const __m256i low = _mm256_and_si256(text, nibble);
        if (!_mm256_testz_si256(_mm256_shuffle_epi8(low_class, low),
                                _mm256_shuffle_epi8(high_class, high))) {
            break;
        }
        const __m256i is_slash = _mm256_cmpeq_epi8(text, slash);
        const __m256i values =
            _mm256_add_epi8(text, _mm256_shuffle_epi8(offset, _mm256_add_epi8(is_slash, high)));
        // four 6-bit values to 24 bits of a 32-bit word, then bytes in order, lanes joined
        const __m256i pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi32(0x01400140));
        const __m256i words = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00011000));
        const __m256i packed =
            _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(words, order), lanes);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(target + done.target), packed);
        done.source += 32;
        done.target += 24;
    }
    return done;
}

__attribute__((target("avx2"))) Progress encode_avx2(const std::uint8_t* source, std::size_t length,
                                                     std::uint8_t* target) {
    const __m256i spread = _mm256_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10, 1, 0,
                                            2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
    // offset from value to character, by class: a-z, the ten digits, '+', '/', A-Z
    const __m256i offset = _mm256_broadcastsi128_si256(
        _mm_setr_epi8('a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
                      '0' - 52, '0' - 52, '0' - 52, '0' - 52, '+' - 62, '/' - 63, 'A', 0, 0));
    Progress done{0, 0};
    while (length - done.source >= 28) {
        const __m128i left =
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + done.source));
        const __m128i right =
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + done.source + 12));
        const __m256i bytes = _mm256_shuffle_epi8(_mm256_set_m128i(right, left), spread);
        const __m256i high = _mm256_mulhi_epu16(
            _mm256_and_si256(bytes, _mm256_set1_epi32(0x0fc0fc00)), _mm256_set1_epi32(0x04000040));
        const __m256i low = _mm256_mullo_epi16(
            _mm256_and_si256(bytes, _mm256_set1_epi32(0x003f03f0)), _mm256_set1_epi32(0x01000010));
        const __m256i values = _mm256_or_si256(high, low);
        const __m256i upper = _mm256_cmpgt_epi8(_mm256_set1_epi8(26), values);
        __m256i kind = _mm256_subs_epu8(values, _mm256_set1_epi8(51));
        kind = _mm256_or_si256(kind, _mm256_and_si256(upper, _mm256_set1_epi8(13)));
        const __m256i text = _mm256_add_epi8(values, _mm256_shuffle_epi8(offset, kind));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(target + done.target), text);
        done.source += 24;
        done.target += 32;
    }
    return done;
}

#define DRIVE_AVX512 "avx512f,avx512bw,avx512vl,avx512vbmi"

constexpr std::array<std::uint8_t, 64> kDecodeOrder = [] {
    std::array<std::uint8_t, 64> order{};
    for (std::uint8_t i = 0; i < 48; ++i) {
        order[i] = static_cast<std::uint8_t>(i / 3 * 4 + 2 - i % 3);
    }
    return order;
}();

constexpr std::array<std::uint8_t, 64> kEncodeOrder = [] {
    std::array<std::uint8_t, 64> order{};
    for (std::uint8_t i = 0; i < 16; ++i) {
        const auto base = static_cast<std::uint8_t>(3 * i);
        order[4u * i + 0] = static_cast<std::uint8_t>(base + 1);
        order[4u * i + 1] = base;
        order[4u * i + 2] = static_cast<std::uint8_t>(base + 2);
        order[4u * i + 3] = static_cast<std::uint8_t>(base + 1);
    }
    return order;
}();

__attribute__((target(DRIVE_AVX512))) Progress decode_avx512(const std::uint8_t* source,
                                                             std::size_t length,
                                                             std::uint8_t* target) {
    const __m512i table_low = _mm512_loadu_si512(kValue.data());
    const __m512i table_high = _mm512_loadu_si512(kValue.data() + 64);
    const __m512i order = _mm512_loadu_si512(kDecodeOrder.data());
    const __m512i pair_weight = _mm512_set1_epi32(0x01400140);
    const __m512i word_weight = _mm512_set1_epi32(0x00011000);
    const __mmask64 first48 = (std::uint64_t{1} << 48) - 1;
    Progress done{0, 0};
    while (length - done.source >= 64) {
        const __m512i text = _mm512_loadu_si512(source + done.source);
        const __m512i values = _mm512_permutex2var_epi8(table_low, text, table_high);
        // a sign bit in either says: not ASCII, or not of the alphabet
        if (_mm512_movepi8_mask(_mm512_or_si512(text, values)) != 0) break;
        const __m512i pairs = _mm512_maddubs_epi16(values, pair_weight);
        const __m512i words = _mm512_madd_epi16(pairs, word_weight);
        _mm512_mask_storeu_epi8(target + done.target, first48,
                                _mm512_permutexvar_epi8(order, words));
        done.source += 64;
        done.target += 48;
    }
    return done;
}

__attribute__((target(DRIVE_AVX512))) Progress encode_avx512(const std::uint8_t* source,
                                                             std::size_t length,
                                                             std::uint8_t* target) {
    const __m512i order = _mm512_loadu_si512(kEncodeOrder.data());
    const __m512i table = _mm512_loadu_si512(kAlphabet);
    // bit offsets of the four values within bytes b1 b0 b2 b1, twice in 64 bits
    const __m512i shifts = _mm512_set1_epi64(0x3036242a1016040a);
    Progress done{0, 0};
    // a load reads 64 bytes of which 48 count
    while (length - done.source >= 64) {
        const __m512i bytes = _mm512_loadu_si512(source + done.source);
        const __m512i spread = _mm512_permutexvar_epi8(order, bytes);
        const __m512i values = _mm512_multishift_epi64_epi8(shifts, spread);
        _mm512_storeu_si512(target + done.target, _mm512_permutexvar_epi8(values, table));
        done.source += 48;
        done.target += 64;
    }
    return done;
}

#endif  // DRIVE_X86

}  // namespace

Simd best_simd() {
#if DRIVE_X86
    static const Simd best = [] {
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl")) {
            return Simd::kAvx512;
        }
        return __builtin_cpu_supports("avx2") ? Simd::kAvx2 : Simd::kScalar;
    }();
    return best;
#else
    return Simd::kScalar;
#endif
}

std::size_t decoded_length(const std::uint8_t* source, std::size_t length) {
    if (length % 4 != 0) return kNotBase64;
    if (length == 0) return 0;
    std::size_t raw = length / 4 * 3;
    if (source[length - 1] == '=') --raw;
    if (source[length - 1] == '=' && source[length - 2] == '=') --raw;
    return raw;
}

bool base64_decode(const std::uint8_t* source, std::size_t length, std::uint8_t* target,
                   Simd simd) {
    const std::size_t raw = decoded_length(source, length);
    if (raw == kNotBase64) return false;
    const std::size_t padding = length / 4 * 3 - raw;
    // whole quadruples without padding
    const std::size_t whole = padding == 0 ? length : length - 4;
    Progress done{0, 0};
#if DRIVE_X86
    if (simd == Simd::kAvx512) done = decode_avx512(source, whole, target);
    if (simd == Simd::kAvx2) done = decode_avx2(source, whole, target, raw);
#else
    static_cast<void>(simd);
#endif
    const std::uint8_t* from = source + done.source;
    std::uint8_t* to = target + done.target;
    for (; from < source + whole; from += 4, to += 3) {
        const std::uint32_t a = kValue[from[0]];
        const std::uint32_t b = kValue[from[1]];
        const std::uint32_t c = kValue[from[2]];
        const std::uint32_t d = kValue[from[3]];
        if ((a | b | c | d) & kInvalid) return false;
        const std::uint32_t word = a << 18 | b << 12 | c << 6 | d;
        to[0] = static_cast<std::uint8_t>(word >> 16);
        to[1] = static_cast<std::uint8_t>(word >> 8);
        to[2] = static_cast<std::uint8_t>(word);
    }
    if (padding == 0) return true;
    const std::uint32_t a = kValue[from[0]];
    const std::uint32_t b = kValue[from[1]];
    const std::uint32_t c = padding == 1 ? kValue[from[2]] : 0;
    if ((a | b | c) & kInvalid) return false;
    const std::uint32_t word = a << 18 | b << 12 | c << 6;
    to[0] = static_cast<std::uint8_t>(word >> 16);
    if (padding == 1) to[1] = static_cast<std::uint8_t>(word >> 8);
    return true;
}

void base64_encode(const std::uint8_t* source, std::size_t length, std::uint8_t* target,
                   Simd simd) {
    Progress done{0, 0};
#if DRIVE_X86
    if (simd == Simd::kAvx512) done = encode_avx512(source, length, target);
    if (simd == Simd::kAvx2) done = encode_avx2(source, length, target);
#else
    static_cast<void>(simd);
#endif
    const std::uint8_t* from = source + done.source;
    std::uint8_t* to = target + done.target;
    std::size_t left = length - done.source;
    for (; left >= 3; left -= 3, from += 3, to += 4) {
        const std::uint32_t word = static_cast<std::uint32_t>(from[0]) << 16 |
                                   static_cast<std::uint32_t>(from[1]) << 8 | from[2];
        for (unsigned i = 0; i < 4; ++i) {
            to[i] = static_cast<std::uint8_t>(kAlphabet[word >> (18 - 6 * i) & 63]);
        }
    }
    if (left == 0) return;
    const std::uint32_t word = static_cast<std::uint32_t>(from[0]) << 16 |
                               (left == 2 ? static_cast<std::uint32_t>(from[1]) << 8 : 0u);
    to[0] = static_cast<std::uint8_t>(kAlphabet[word >> 18 & 63]);
    to[1] = static_cast<std::uint8_t>(kAlphabet[word >> 12 & 63]);
    to[2] = left == 2 ? static_cast<std::uint8_t>(kAlphabet[word >> 6 & 63]) : std::uint8_t{'='};
    to[3] = '=';
}

}  // namespace drive
