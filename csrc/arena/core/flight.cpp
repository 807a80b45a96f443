// Projectiles: an exact parabola, sampled every 50 mm of its path, and the plates it may hit.
#include <algorithm>
#include <cstdlib>

#include "arena/core/sim.h"

namespace sysone::arena {
namespace {

constexpr Wide kSampleUm = 50000;
constexpr int kChunk = Field::kBlockCells;

int base_of(Building b) { return b == Building::kRedBase ? 0 : b == Building::kBlueBase ? 1 : -1; }
int outpost_of(Building b) {
    return b == Building::kRedOutpost ? 0 : b == Building::kBlueOutpost ? 1 : -1;
}

// The plate test: how far the path passes the plate's centre, or -1 for a miss.
Wide plate_offset(Wide from_x, Wide from_y, Wide vx, Wide vy, Word normal, Wide half_width_um,
                  Wide least_cosine_pm) {
    const Wide speed = length(vx, vy);
    if (speed == 0) return -1;
    const Wide cosine_in = -(vx * cosine(normal) + vy * sine(normal)) / speed;  // 2^30
    if (cosine_in * 1000 < least_cosine_pm * kUnit) return -1;
    const Wide off = std::abs(from_x * vy - from_y * vx) / speed;
    return off * kUnit <= half_width_um * cosine_in ? off : -1;
}

}  // namespace

void Sim::note_shot(const Projectile& p, Wide x, Wide y, bool hit) {
    if (!recording_) return;
    const Word flown = now() - p.born;
    shots_.push_back({p.born, p.team, p.slot, p.x - p.vx * kTickMs * flown,
                      p.y - p.vy * kTickMs * flown, static_cast<Word>(x), static_cast<Word>(y),
                      hit});
}

// A body of the own team just stops a projectile. Returns whether a plate was hit.
bool Sim::meet_robot(const Projectile& p, int i, Wide x, Wide y, Wide z) {
    const Robot& r = robot(i);
    if (r.team == p.team || r.alive == 0) return false;
    const Settings& rule = s();
    const Wide out = (model(i).radius_mm - rule.plate_inset_mm) * 1000;
    const Wide rise = std::abs(z - Wide{r.z + model(i).armour_mm} * 1000);
    Wide best = -1;
    Word plate = 0;
    for (std::size_t k = 0; k < model(i).plates.size(); ++k) {
        const Plate& candidate = model(i).plates[k];
        if (rise > candidate.half_height_um) continue;
        const Word normal = wrap(Wide{r.yaw} + candidate.yaw);
        const Wide cx = r.x + out * cosine(normal) / kUnit;
        const Wide cy = r.y + out * sine(normal) / kUnit;
        const Wide off = plate_offset(x - cx, y - cy, p.vx, p.vy, normal, candidate.half_width_um,
                                      rule.plate_cosine_pm);
        if (off >= 0 && (best < 0 || off < best)) {
            best = off;
            plate = static_cast<Word>(k);
        }
    }
    if (best < 0) return false;
    Hit hit;
    hit.order = p.id;
    hit.attacker = find(p.team, p.slot);
    hit.attacker_team = p.team;
    hit.victim = i;
    hit.base_damage = static_cast<Word>(p.calibre == 42 ? rule.dmg_42_robot : rule.dmg_17_robot);
    hit.attack_pm = p.attack;
    hit.plate = plate;
    hits_.push_back(hit);
    return true;
}

void Sim::meet_building(const Projectile& p, Building building, Wide x, Wide y, Wide z) {
    const Settings& rule = s();
    const bool large = p.calibre == 42;
    Hit hit;
    hit.order = p.id;
    hit.attacker = find(p.team, p.slot);
    hit.attacker_team = p.team;
    hit.building = building;
    hit.attack_pm = p.attack_building;
    const Wide half_width = rule.plate_large_mm[0] * 500;
    const Wide half_height = rule.plate_large_mm[1] * 500;
    const auto test = [&](Wide cx, Wide cy, Wide cz, Word normal) {
        if (std::abs(z - cz) > half_height) return Wide{-1};
        return plate_offset(x - cx, y - cy, p.vx, p.vy, normal, half_width, rule.plate_cosine_pm);
    };
    Wide best = -1;
    if (const int t = outpost_of(building); t >= 0) {
        if (!outpost_up(t)) return;
        const Point at = field().outpost(t);
        for (Word k = 0; k < 3; ++k) {
            const Word normal = wrap(Wide{team(t).outpost_angle} + Wide{kTurn} * k / 3);
            const Wide out = rule.outpost_plate_mm * 1000;
            const Wide off = test(Wide{at.x_mm} * 1000 + out * cosine(normal) / kUnit,
                                  Wide{at.y_mm} * 1000 + out * sine(normal) / kUnit,
                                  Wide{at.z_mm} * 1000, normal);
            if (off >= 0 && (best < 0 || off < best)) {
                best = off;
                hit.plate = k;
            }
        }
        if (best < 0) return;
        hit.base_damage = static_cast<Word>(large ? rule.dmg_42_outpost : rule.dmg_17_outpost);
        hits_.push_back(hit);
        return;
    }
    const int t = base_of(building);
    if (t < 0 || outpost_up(t)) return;
    const Point front = field().base_armour(t);
    const Point centre = field().base_centre(t);
    const Word facing = t == 0 ? 0 : kHalfTurn;
    const Wide low = rule.base_side_plate_mm * 1000;
    const Wide side = Wide{field().base_half_width_mm()} * 1000;
    const Word quarter = kTurn / 4;
    const std::array<std::array<Wide, 4>, 4> plates = {{
        {Wide{front.x_mm} * 1000, Wide{front.y_mm} * 1000, Wide{front.z_mm} * 1000, facing},
        {Wide{front.x_mm} * 1000, Wide{front.y_mm} * 1000, low, facing},
        {Wide{centre.x_mm} * 1000, Wide{centre.y_mm} * 1000 + side, low, quarter},
        {Wide{centre.x_mm} * 1000, Wide{centre.y_mm} * 1000 - side, low, kTurn - quarter},
    }};
    for (std::size_t k = 0; k < (team(t).base_open != 0 ? plates.size() : 1); ++k) {
        const auto& [cx, cy, cz, normal] = plates[k];
        const Wide off = test(cx, cy, cz, static_cast<Word>(normal));
        if (off >= 0 && (best < 0 || off < best)) {
            best = off;
            hit.plate = static_cast<Word>(k);
        }
    }
    if (best < 0) return;
    hit.base_damage = static_cast<Word>(large            ? rule.dmg_42_base
                                        : hit.plate == 0 ? rule.dmg_17_base_closed
                                                         : rule.dmg_17_base_open);
    hits_.push_back(hit);
}

// A projectile in the plane of its own rune's face. Returns whether the face stops it.
bool Sim::meet_rune(const Projectile& p, Wide y, Wide z) {
    const Settings& rule = s();
    const Point face = field().rune_face(p.team);
    const Wide off = length(y - Wide{face.y_mm} * 1000, z - Wide{face.z_mm} * 1000);
    if (off > rule.rune_plane_mm * 1000) return false;
    const TeamState& side = team(p.team);
    if (side.rune_active == 0) return true;
    int nearest = -1;
    Wide miss = rule.rune_hit_mm * 1000 + 1;
    for (int arm = 0; arm < 5; ++arm) {
        const View at = rune_arm(p.team, arm, side.rune_angle);
        const Wide far = length(y - at.y, z - at.z);
        if (far < miss) {
            miss = far;
            nearest = arm;
        }
    }
    if (nearest >= 0) {
        const Wide ring = std::max<Wide>(1, 10 - miss / (rule.rune_ring_mm * 1000));
        rune_hit(p.team, nearest, static_cast<Word>(ring), p.slot);
    }
    return true;
}

// Returns whether the projectile flies on.
bool Sim::fly_one(Projectile& p) {
    const Settings& rule = s();
    const Field& ground = field();
    const Wide drop = rule.gravity_mm_s2 / kTicksPerSecond;
    const Wide dx = Wide{p.vx} * kTickMs, dy = Wide{p.vy} * kTickMs;
    const Wide dz = (2 * Wide{p.vz} - drop) * kTickMs / 2;
    const Wide far =
        static_cast<Wide>(isqrt(static_cast<std::uint64_t>(dx * dx + dy * dy + dz * dz)));
    const auto n = static_cast<int>(std::max<Wide>(1, (far + kSampleUm - 1) / kSampleUm));

    // bodies near the path of this tick
    std::array<int, 12> near{};
    int nears = 0;
    const Wide x_low = std::min<Wide>(p.x, p.x + dx), x_high = std::max<Wide>(p.x, p.x + dx);
    const Wide y_low = std::min<Wide>(p.y, p.y + dy), y_high = std::max<Wide>(p.y, p.y + dy);
    const Wide z_low = std::min<Wide>(p.z, p.z + dz);
    for (int i = 0; i < count(); ++i) {
        const Robot& r = robot(i);
        if (model(i).flyer || (r.team == p.team && r.slot == p.slot)) continue;
        const Wide radius = Wide{model(i).radius_mm} * 1000;
        if (r.x + radius < x_low || r.x - radius > x_high || r.y + radius < y_low ||
            r.y - radius > y_high || (r.z + rule.body_height_mm) * 1000 < z_low) {
            continue;
        }
        near[static_cast<std::size_t>(nears++)] = i;
    }
    const Wide face = Wide{ground.rune_face(p.team).x_mm} * 1000;
    const bool passes_face =
        p.team == 0 ? p.x < face && p.x + dx >= face : p.x > face && p.x + dx <= face;
    const bool leaves = !ground.inside(p.x + dx, p.y + dy);
    const bool plain = nears == 0 && !passes_face && !leaves;
    const Wide highest = Wide{ground.height_above_all()} * 1000;
    if (!(plain && p.z > highest && p.z + dz > highest)) {
        Wide before = p.x;
        for (int i = 1; i <= n; ++i) {
            if (plain && (i - 1) % kChunk == 0) {
                const int last = std::min(i + kChunk - 1, n);
                const Wide lowest = std::min(p.z + dz * i / n, p.z + dz * last / n);
                const auto x = static_cast<Word>(p.x + dx * i / n);
                const auto y = static_cast<Word>(p.y + dy * i / n);
                if (lowest > Wide{ground.coarse_top(ground.cell(x, y, p.team))} * 1000) {
                    i = last;
                    continue;
                }
            }
            const Wide x = p.x + dx * i / n, y = p.y + dy * i / n, z = p.z + dz * i / n;
            if (passes_face &&
                (p.team == 0 ? before < face && x >= face : before > face && x <= face)) {
                if (meet_rune(p, p.y + dy * (face - p.x) / dx, p.z + dz * (face - p.x) / dx)) {
                    note_shot(p, x, y, false);
                    return false;
                }
            }
            before = x;
            if (!ground.inside(x, y)) {
                note_shot(p, x, y, false);
                return false;
            }
            const int cell = ground.cell(static_cast<Word>(x), static_cast<Word>(y), p.team);
            if (z <= Wide{ground.top(cell)} * 1000) {
                const Building building = ground.building(cell);
                const std::size_t hits = hits_.size();
                const int owner = std::max(base_of(building), outpost_of(building));
                if (owner == 1 - p.team && z > Wide{ground.ground(cell)} * 1000) {
                    meet_building(p, building, x, y, z);
                }
                note_shot(p, x, y, hits_.size() > hits);
                return false;
            }
            // nearest centre first, then enemies, then the lower slot
            int body = -1;
            Wide least = 0;
            for (int k = 0; k < nears; ++k) {
                const int candidate = near[static_cast<std::size_t>(k)];
                const Robot& r = robot(candidate);
                const Wide above = z - Wide{r.z} * 1000;
                if (above < 0 || above > rule.body_height_mm * 1000) continue;
                const Wide radius = Wide{model(candidate).radius_mm} * 1000;
                const Wide bx = x - r.x, by = y - r.y;
                const Wide d2 = bx * bx + by * by;
                if (d2 > radius * radius) continue;
                const bool closer = body < 0 || d2 < least ||
                                    (d2 == least && r.team != p.team && robot(body).team == p.team);
                if (closer) {
                    body = candidate;
                    least = d2;
                }
            }
            if (body >= 0) {
                note_shot(p, x, y, meet_robot(p, body, x, y, z));
                return false;
            }
        }
    }
    p.x += static_cast<Word>(dx);
    p.y += static_cast<Word>(dy);
    p.z += static_cast<Word>(dz);
    p.vz -= static_cast<Word>(drop);
    if (now() + 1 - p.born >= rule.projectile_life_ticks) {
        note_shot(p, p.x, p.y, false);
        return false;
    }
    return true;
}

void Sim::fly() {
    std::size_t kept = 0;
    auto& flying = state_.projectiles;
    for (std::size_t i = 0; i < flying.size(); ++i) {
        Projectile p = flying[i];
        if (fly_one(p)) flying[kept++] = p;
    }
    flying.resize(kept);
}

}  // namespace sysone::arena
