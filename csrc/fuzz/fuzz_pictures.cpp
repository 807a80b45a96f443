// Pictures of the embedded camera and boxes, with any numbers, not finite ones included: nothing is
// read or written outside the buffers, every instruction set drops the fourth channel alike, and
// what two boxes say of each other agrees.
//
//   input: sizes, then doubles
#include <cmath>
#include <vector>

#include "drive/boxes.h"
#include "drive/pixels.h"
#include "fuzz/fuzz.h"

using sysone::fuzz::Bytes;
using sysone::fuzz::require;

namespace {

double number(Bytes& bytes) {
    return bytes.between(0, 7) == 0 ? bytes.take<double>() : bytes.take<std::int16_t>() / 64.0;
}

void channels(Bytes& bytes) {
    const auto count = static_cast<std::size_t>(bytes.between(0, 255));
    std::vector<std::uint8_t> four(4 * count);
    for (auto& value : four) value = bytes.take<std::uint8_t>();
    std::vector<std::uint8_t> plain(3 * count);
    drive::bgra_to_bgr(four.data(), count, plain.data(), drive::Simd::kScalar);
    for (int level = 0; level <= static_cast<int>(drive::best_simd()); ++level) {
        std::vector<std::uint8_t> three(3 * count);
        drive::bgra_to_bgr(four.data(), count, three.data(), static_cast<drive::Simd>(level));
        require(three == plain, "every level drops the same channel");
    }
}

void ground(Bytes& bytes) {
    const int width = bytes.between(1, 24), height = bytes.between(1, 24);
    const int columns = bytes.between(1, 24), rows = bytes.between(1, 24);
    const std::vector<std::uint8_t> cells(static_cast<std::size_t>(columns * rows), 7);
    const std::vector<std::uint8_t> palette(256 * 3, 9);
    std::vector<std::uint8_t> target(static_cast<std::size_t>(3 * width * height));
    const drive::GroundPicture picture{
        cells.data(), columns, rows, number(bytes), number(bytes), std::abs(number(bytes)) + 1e-3};
    const drive::GroundCamera camera{width,         height,        number(bytes),
                                     number(bytes), number(bytes), number(bytes)};
    drive::draw_ground(picture, camera, number(bytes), number(bytes), number(bytes), palette.data(),
                       target.data());
}

void polygon(Bytes& bytes) {
    const int width = bytes.between(1, 24), height = bytes.between(1, 24);
    std::vector<double> corners(static_cast<std::size_t>(2 * bytes.between(0, 8)));
    for (double& value : corners) value = number(bytes);
    std::vector<std::uint8_t> target(static_cast<std::size_t>(3 * width * height));
    const std::uint8_t colour[3] = {1, 2, 3};
    drive::fill_convex(corners.data(), corners.size() / 2, colour, width, height, target.data());
}

void boxes(Bytes& bytes) {
    const auto box = [&bytes] {
        return drive::Box{number(bytes), number(bytes), number(bytes), std::abs(number(bytes)),
                          std::abs(number(bytes))};
    };
    const drive::Box one = box(), other = box();
    const drive::Overlap there = boxes_overlap(one, other);
    const drive::Overlap back = boxes_overlap(other, one);
    require(there.touches == back.touches, "both boxes say whether they touch");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes bytes(data, size);
    switch (bytes.between(0, 3)) {
        case 0:
            channels(bytes);
            break;
        case 1:
            ground(bytes);
            break;
        case 2:
            polygon(bytes);
            break;
        default:
            boxes(bytes);
    }
    return 0;
}
