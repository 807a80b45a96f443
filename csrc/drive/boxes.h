// Oriented boxes in the plane.
#pragma once

namespace drive {

struct Box {
    double x;
    double y;
    double yaw;          // radians
    double half_length;  // along yaw
    double half_width;
};

// How deep `other` reaches into `box`, and the unit direction that pushes `box` out of it.
struct Overlap {
    bool touches;
    double depth;
    double normal_x;
    double normal_y;
};

Overlap boxes_overlap(const Box& box, const Box& other);

}  // namespace drive
