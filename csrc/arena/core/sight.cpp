// Who sees whom, and whether a line is free of ground and solids.
#include <algorithm>

#include "arena/core/sim.h"

namespace sysone::arena {
namespace {

constexpr Wide kSampleUm = 50000;
constexpr int kChunk = Field::kBlockCells;  // samples that stay within one block's length

}  // namespace

Sim::View Sim::muzzle(int i) const {
    const Robot& r = robot(i);
    const Wide height =
        model(i).muzzle_mm != 0 ? model(i).muzzle_mm : (model(i).flyer ? 0 : s().vision_eye_mm);
    return {r.x, r.y, static_cast<Word>((r.z + height) * 1000)};
}

Sim::View Sim::armour(int i) const {
    const Robot& r = robot(i);
    return {r.x, r.y, (r.z + model(i).armour_mm) * 1000};
}

// Sampled every 50 mm of its length on the ground. Eight samples lie within one block of the coarse
// grid and its neighbours, so they are passed at once where the line is above all of these.
bool Sim::line_clear(View from, View to, int t) const {
    const Wide dx = to.x - from.x, dy = to.y - from.y, dz = to.z - from.z;
    const auto n = static_cast<int>((length(dx, dy) + kSampleUm - 1) / kSampleUm);
    if (n == 0) return true;
    const Field& ground = field();
    const Wide highest = Wide{ground.height_above_all()} * 1000;
    if (from.z > highest && to.z > highest) return true;
    for (int i = 0; i <= n; i += kChunk) {
        const int last = std::min(i + kChunk - 1, n);
        const Wide z_first = from.z + dz * i / n, z_last = from.z + dz * last / n;
        const auto x = static_cast<Word>(from.x + dx * i / n);
        const auto y = static_cast<Word>(from.y + dy * i / n);
        if (ground.inside(x, y)) {
            const int cell = ground.cell(x, y, t);
            if (std::min(z_first, z_last) > Wide{ground.coarse_top(cell)} * 1000) continue;
        }
        for (int k = i; k <= last; ++k) {
            const auto px = static_cast<Word>(from.x + dx * k / n);
            const auto py = static_cast<Word>(from.y + dy * k / n);
            if (!ground.inside(px, py)) continue;
            const Wide z = from.z + dz * k / n;
            if (z <= Wide{ground.top(ground.cell(px, py, t))} * 1000) return false;
        }
    }
    return true;
}

bool Sim::sees(int a, int b) const {
    const Robot& from = robot(a);
    const Robot& to = robot(b);
    const Model& kind = model(a);
    const Wide dx = (Wide{to.x} - from.x) / 1000, dy = (Wide{to.y} - from.y) / 1000;
    const Wide d2 = dx * dx + dy * dy;
    Wide range = team(from.team).blind_end > now() ? s().vision_blind_mm : s().vision_range_mm;
    if (kind.flyer) range = std::min(range, s().vision_aerial_mm);
    if (d2 > range * range) return false;
    if (d2 > s().vision_near_mm * s().vision_near_mm && kind.sees != Sees::kAround) {
        const bool wide = kind.sees == Sees::kWide;
        const Word facing = wide ? from.yaw : from.gimbal_yaw;
        const auto half = static_cast<Word>(
            turns_from_mdeg((wide ? s().vision_engineer_half_deg : s().vision_half_deg) * 1000));
        // within the half angle: the dot product against its cosine, both scaled by 2^15
        const Wide dot = (dx * (cosine(facing) / 32768) + dy * (sine(facing) / 32768));
        const Wide edge = cosine(half) / 32768;
        if (dot <= 0 || dot * dot < d2 * edge * edge) return false;
    }
    return line_clear(muzzle(a), armour(b), from.team);
}

void Sim::see() {
    if (sight_tick_ == now()) return;
    sight_tick_ = now();
    for (int b = 0; b < count(); ++b) robot(b).seen_by = 0;
    for (int a = 0; a < count(); ++a) {
        if (robot(a).alive == 0 || model(a).drones != 0) continue;
        for (int b = 0; b < count(); ++b) {
            if (robot(b).team == robot(a).team || model(b).drones != 0) continue;
            if (sees(a, b)) robot(b).seen_by |= Word{1} << robot(a).slot;
        }
    }
}

}  // namespace sysone::arena
