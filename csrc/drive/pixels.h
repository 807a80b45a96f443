// Pictures: channel order, the ground camera and filled convex polygons.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drive/base64.h"

namespace drive {

// The first three of four channels, `count` pixels.
void bgra_to_bgr(const std::uint8_t* source, std::size_t count, std::uint8_t* target, Simd simd);

// A picture of the ground from above: one palette index a pixel, row 0 at the least y.
struct GroundPicture {
    const std::uint8_t* cells;
    std::int64_t width;
    std::int64_t height;
    double west;   // x of the left edge, metres
    double north;  // y of the upper edge, metres
    double cell;   // metres a pixel
};

// A pinhole camera that looks along the ego's x axis, without pitch or roll.
struct GroundCamera {
    std::int64_t width;
    std::int64_t height;
    double focal;    // pixels
    double mount_x;  // metres ahead of the ego's centre
    double mount_y;  // metres to the right
    double mount_z;  // metres above the ground
};

// Rows below the horizon of a BGR picture; `palette` holds 256 BGR colours, colour 0 is what lies
// outside the picture of the ground.
void draw_ground(const GroundPicture& ground, const GroundCamera& camera, double x, double y,
                 double yaw, const std::uint8_t* palette, std::uint8_t* target);

// A convex polygon given by `count` corners u, v in pixels, in either direction.
void fill_convex(const double* corners, std::size_t count, const std::uint8_t* colour,
                 std::int64_t width, std::int64_t height, std::uint8_t* target);

}  // namespace drive
