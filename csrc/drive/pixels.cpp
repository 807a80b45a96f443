#include "drive/pixels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#define DRIVE_X86 1
#include <immintrin.h>
#else
#define DRIVE_X86 0
#endif

namespace drive {
namespace {

#if DRIVE_X86

__attribute__((target("avx2"))) std::size_t bgra_to_bgr_avx2(const std::uint8_t* source,
                                                             std::size_t count,
                                                             std::uint8_t* target) {
    const __m256i order = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1,
                                           0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
    std::size_t done = 0;
    // a store writes 32 bytes of which 24 count: stop where the rest would leave the target
    for (; done + 11 <= count; done += 8) {
        const __m256i four =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + 4 * done));
        const __m256i three = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(four, order), lanes);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(target + 3 * done), three);
    }
    return done;
}

constexpr std::array<std::uint8_t, 64> kDropFourth = [] {
    std::array<std::uint8_t, 64> order{};
    for (std::uint8_t i = 0; i < 48; ++i) order[i] = static_cast<std::uint8_t>(i / 3 * 4 + i % 3);
    return order;
}();

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi"))) std::size_t bgra_to_bgr_avx512(
    const std::uint8_t* source, std::size_t count, std::uint8_t* target) {
    const __m512i order = _mm512_loadu_si512(kDropFourth.data());
    const __mmask64 first48 = (std::uint64_t{1} << 48) - 1;
    std::size_t done = 0;
    // full stores are cheaper than masked ones: stop where the rest would leave the target
    for (; done + 22 <= count; done += 16) {
        const __m512i four = _mm512_loadu_si512(source + 4 * done);
        _mm512_storeu_si512(target + 3 * done, _mm512_permutexvar_epi8(order, four));
    }
    for (; done + 16 <= count; done += 16) {
        const __m512i four = _mm512_loadu_si512(source + 4 * done);
        _mm512_mask_storeu_epi8(target + 3 * done, first48, _mm512_permutexvar_epi8(order, four));
    }
    return done;
}

#endif  // DRIVE_X86

}  // namespace

void bgra_to_bgr(const std::uint8_t* source, std::size_t count, std::uint8_t* target, Simd simd) {
    std::size_t done = 0;
#if DRIVE_X86
    if (simd == Simd::kAvx512) done = bgra_to_bgr_avx512(source, count, target);
    if (simd == Simd::kAvx2) done = bgra_to_bgr_avx2(source, count, target);
#else
    static_cast<void>(simd);
#endif
    for (; done < count; ++done) {
        target[3 * done] = source[4 * done];
        target[3 * done + 1] = source[4 * done + 1];
        target[3 * done + 2] = source[4 * done + 2];
    }
}

void draw_ground(const GroundPicture& ground, const GroundCamera& camera, double x, double y,
                 double yaw, const std::uint8_t* palette, std::uint8_t* target) {
    const double cos_yaw = std::cos(yaw);
    const double sin_yaw = std::sin(yaw);
    const double centre_u = static_cast<double>(camera.width) / 2;
    const double centre_v = static_cast<double>(camera.height) / 2;
    for (std::int64_t v = camera.height / 2; v < camera.height; ++v) {
        // the centre of each pixel; along a row the point on the ground moves in equal steps
        const double ahead =
            camera.focal * camera.mount_z / (static_cast<double>(v) + 0.5 - centre_v);
        const double step = ahead / camera.focal;
        const double right = camera.mount_y + (0.5 - centre_u) * step;
        const double forward = camera.mount_x + ahead;
        const double first_x = x + cos_yaw * forward - sin_yaw * right;
        const double first_y = y + sin_yaw * forward + cos_yaw * right;
        const double column = (first_x - ground.west) / ground.cell;
        const double row = (first_y - ground.north) / ground.cell;
        const double column_step = -sin_yaw * step / ground.cell;
        const double row_step = cos_yaw * step / ground.cell;
        std::uint8_t* pixel = target + 3 * v * camera.width;
        for (std::int64_t u = 0; u < camera.width; ++u, pixel += 3) {
            const double c = column + column_step * static_cast<double>(u);
            const double r = row + row_step * static_cast<double>(u);
            std::uint8_t index = 0;
            if (c >= 0 && r >= 0 && c < static_cast<double>(ground.width) &&
                r < static_cast<double>(ground.height)) {
                index = ground.cells[static_cast<std::int64_t>(r) * ground.width +
                                     static_cast<std::int64_t>(c)];
            }
            std::memcpy(pixel, palette + 3 * index, 3);
        }
    }
}

void fill_convex(const double* corners, std::size_t count, const std::uint8_t* colour,
                 std::int64_t width, std::int64_t height, std::uint8_t* target) {
    if (count < 3) return;
    double top = corners[1];
    double bottom = corners[1];
    for (std::size_t i = 1; i < count; ++i) {
        top = std::min(top, corners[2 * i + 1]);
        bottom = std::max(bottom, corners[2 * i + 1]);
    }
    // What is no number counts as 0: it has no whole number to become.
    const auto clamp_to = [](double value, std::int64_t limit) {
        if (!(value > 0.0)) return std::int64_t{0};
        return value < static_cast<double>(limit) ? static_cast<std::int64_t>(value) : limit;
    };
    // a pixel is filled when its centre is inside
    const std::int64_t first_v = clamp_to(std::ceil(top - 0.5), height);
    const std::int64_t last_v = clamp_to(std::ceil(bottom - 0.5), height);
    for (std::int64_t v = first_v; v < last_v; ++v) {
        const double line = static_cast<double>(v) + 0.5;
        double left = static_cast<double>(width);
        double right = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const double* a = corners + 2 * i;
            const double* b = corners + 2 * ((i + 1) % count);
            if ((a[1] <= line) == (b[1] <= line)) continue;
            const double u = a[0] + (line - a[1]) / (b[1] - a[1]) * (b[0] - a[0]);
            left = std::min(left, u);
            right = std::max(right, u);
        }
        const std::int64_t first_u = clamp_to(std::ceil(left - 0.5), width);
        const std::int64_t last_u = clamp_to(std::ceil(right - 0.5), width);
        for (std::int64_t u = first_u; u < last_u; ++u) {
            std::memcpy(target + 3 * (v * width + u), colour, 3);
        }
    }
}

}  // namespace drive
