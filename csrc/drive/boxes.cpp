#include "drive/boxes.h"

#include <cmath>

namespace drive {

// Separating axes: two boxes are apart exactly when they are apart along one of the four side
// directions (S. Gottschalk, "Separating axis theorem", 1996).
Overlap boxes_overlap(const Box& box, const Box& other) {
    const double dx = box.x - other.x;
    const double dy = box.y - other.y;
    const double box_cos = std::cos(box.yaw);
    const double box_sin = std::sin(box.yaw);
    const double other_cos = std::cos(other.yaw);
    const double other_sin = std::sin(other.yaw);
    const double axes[4][2] = {
        {box_cos, box_sin}, {-box_sin, box_cos}, {other_cos, other_sin}, {-other_sin, other_cos}};
    Overlap least{false, INFINITY, 0, 0};
    for (const auto& axis : axes) {
        const double along_box = std::fabs(axis[0] * box_cos + axis[1] * box_sin);
        const double across_box = std::fabs(axis[1] * box_cos - axis[0] * box_sin);
        const double along_other = std::fabs(axis[0] * other_cos + axis[1] * other_sin);
        const double across_other = std::fabs(axis[1] * other_cos - axis[0] * other_sin);
        const double reach = box.half_length * along_box + box.half_width * across_box +
                             other.half_length * along_other + other.half_width * across_other;
        const double apart = axis[0] * dx + axis[1] * dy;
        const double depth = reach - std::fabs(apart);
        if (!(depth > 0)) return {false, 0, 0, 0};
        if (depth < least.depth) {
            const double sign = apart < 0 ? -1 : 1;
            least = {true, depth, sign * axis[0], sign * axis[1]};
        }
    }
    return least;
}

}  // namespace drive
