// Gimbals and shots. The engine aims for the strategy: it leads a moving target and adds the drop.
#include <algorithm>
#include <cstdlib>

#include "arena/core/sim.h"

namespace sysone::arena {
namespace {

constexpr Wide kStraight = 1000000;          // mm/s, so fast that there is no drop
constexpr Wide kLongestFlightUs = 10000000;  // keeps the squares below within 64 bits
constexpr Wide kSigma = 37837;               // standard deviation of the sum below

// The sum of four uniform 16-bit numbers about its mean.
Wide normal(std::uint32_t w0, std::uint32_t w1) {
    return static_cast<Wide>((w0 & 0xFFFF) + (w0 >> 16) + (w1 & 0xFFFF) + (w1 >> 16)) - 131070;
}

Wide distance(Wide x, Wide y, Wide z) {
    return static_cast<Wide>(isqrt(static_cast<std::uint64_t>(x * x + y * y + z * z)));
}

}  // namespace

// A robot without a launcher looks straight at things.
Wide Sim::muzzle_speed(int i) const {
    return model(i).calibre == 0 ? kStraight : std::max<Wide>(model(i).muzzle_speed_mm_s, 1000);
}

// Time of flight in microseconds, from the straight distance; the target first as it stands, then
// twice where it will be, with the drop.
Sim::Aiming Sim::lead(int i, View target, Word vx, Word vy, Wide inset_um, Wide speed) const {
    const View from = muzzle(i);
    Wide x = target.x, y = target.y, z = target.z;
    const auto plate = [&](Wide& px, Wide& py) {
        const Wide dx = x - from.x, dy = y - from.y;
        const Wide far = length(dx, dy);
        px = dx;
        py = dy;
        if (far > inset_um && far > 0) {
            px -= dx * inset_um / far;
            py -= dy * inset_um / far;
        }
    };
    Wide px = 0, py = 0;
    plate(px, py);
    const auto flight = [&] {
        return std::min(distance(px, py, z - from.z) * 1000 / speed, kLongestFlightUs);
    };
    Wide flight_us = flight();
    for (int refinement = 0; refinement < 2; ++refinement) {
        x = target.x + Wide{vx} * flight_us / 1000;
        y = target.y + Wide{vy} * flight_us / 1000;
        z = target.z + s().gravity_mm_s2 * flight_us * flight_us / 2 / 1000000000;
        plate(px, py);
        flight_us = flight();
    }
    return {true, atan2(py, px), turn_between(0, atan2(z - from.z, length(px, py)))};
}

Sim::Aiming Sim::toward(int i, View point, Wide speed) const {
    return lead(i, point, 0, 0, 0, speed);
}

Word Sim::rune_step(const TeamState& side, Word ticks_in) const {
    const Settings& rule = s();
    Wide mrad_s = rule.rune_small_speed_mrad_s;
    if (side.rune_active == 2) {
        const Wide phase_mrad = Wide{side.rune_w} * ticks_in / kTicksPerSecond;
        const Word phase = wrap(turns_from_mrad(phase_mrad));
        mrad_s = Wide{side.rune_a} * sine(phase) / kUnit + rule.rune_large_sum_mrad_s - side.rune_a;
    }
    return static_cast<Word>(rate_from_mrad_s(mrad_s));
}

Word Sim::rune_angle_after(int t, Word ticks_ahead) const {
    const TeamState& side = team(t);
    Wide angle = side.rune_angle;
    for (Word k = 0; k < ticks_ahead; ++k) {
        angle += rune_step(side, now() - side.rune_start + k);
    }
    return wrap(angle);
}

// The angle goes counter-clockwise as seen from the own base.
Sim::View Sim::rune_arm(int t, int arm, Word angle) const {
    const Point face = field().rune_face(t);
    const Word at = wrap(Wide{angle} + Wide{kTurn} * arm / 5);
    const Wide radius = s().rune_radius_mm * 1000;
    const Wide side = radius * cosine(at) / kUnit;
    return {face.x_mm * 1000, static_cast<Word>(face.y_mm * 1000 + (t == 0 ? -side : side)),
            static_cast<Word>(face.z_mm * 1000 + radius * sine(at) / kUnit)};
}

int Sim::rune_aim_arm(int t) const {
    const TeamState& side = team(t);
    int any = -1;
    for (int arm = 4; arm >= 0; --arm) {
        if ((side.rune_lit >> arm & 1) == 0) continue;
        if (any < 0 || (side.rune_arms_hit >> arm & 1) == 0 ||
            (side.rune_arms_hit >> any & 1) != 0) {
            any = arm;
        }
    }
    return any;
}

Sim::Aiming Sim::aiming(int i) {
    const Robot& r = robot(i);
    const Settings& rule = s();
    const int enemy = 1 - r.team;
    const Wide speed = muzzle_speed(i);
    const auto at_robot = [&](int e) {
        const Robot& victim = robot(e);
        const Wide inset = (model(e).radius_mm - rule.plate_inset_mm) * 1000;
        return lead(i, armour(e), victim.vx, victim.vy, inset, speed);
    };
    const auto at_outpost = [&] {
        const Point p = field().outpost(enemy);
        return lead(i, {p.x_mm * 1000, p.y_mm * 1000, p.z_mm * 1000}, 0, 0,
                    rule.outpost_plate_mm * 1000, speed);
    };
    const auto at_base = [&] {
        const Point p = field().base_armour(enemy);
        return lead(i, {p.x_mm * 1000, p.y_mm * 1000, p.z_mm * 1000}, 0, 0, 0, speed);
    };
    switch (static_cast<Aim>(r.aim)) {
        case Aim::kRobot: {
            const int e = find(enemy, r.aim_at[0]);
            if (e < 0 || robot(e).alive == 0 || model(e).flyer) return {};
            if (robot(e).seen_by != 0) return at_robot(e);
            const auto slot = static_cast<std::size_t>(robot(e).slot);
            const TeamState& side = team(r.team);
            if (side.radar_progress[slot] < rule.radar_marked) return {};
            const Word x = side.radar_x[slot], y = side.radar_y[slot];
            const Wide z = field().ground(field().cell(x, y, r.team)) + model(e).armour_mm;
            const Wide inset = (model(e).radius_mm - rule.plate_inset_mm) * 1000;
            return lead(i, {x, y, static_cast<Word>(z * 1000)}, 0, 0, inset, speed);
        }
        case Aim::kBase:
            return at_base();
        case Aim::kOutpost:
            return at_outpost();
        case Aim::kRune: {
            const int arm = rune_aim_arm(r.team);
            if (arm < 0) return {};
            const View now_at = rune_arm(r.team, arm, team(r.team).rune_angle);
            const View from = muzzle(i);
            const Wide flight_ms = distance(Wide{now_at.x} - from.x, Wide{now_at.y} - from.y,
                                            Wide{now_at.z} - from.z) /
                                   speed;
            const auto ahead = static_cast<Word>((flight_ms + kTickMs / 2) / kTickMs);
            return toward(i, rune_arm(r.team, arm, rune_angle_after(r.team, ahead)), speed);
        }
        case Aim::kPoint:
            return toward(i, {r.aim_at[0], r.aim_at[1], r.aim_at[2]}, speed);
        case Aim::kAngles:
            return {true, r.aim_at[0], r.aim_at[1]};
        case Aim::kNearest:
            break;
    }
    int nearest = -1;
    Wide least = 0;
    for (int e = 0; e < count(); ++e) {
        const Robot& other = robot(e);
        if (other.team == r.team || other.alive == 0 || other.seen_by == 0 || model(e).flyer) {
            continue;
        }
        const Wide dx = Wide{other.x} - r.x, dy = Wide{other.y} - r.y;
        const Wide far = dx * dx + dy * dy;
        if (nearest < 0 || far < least) {
            nearest = e;
            least = far;
        }
    }
    if (nearest >= 0) return at_robot(nearest);
    const auto in_sight = [&](Point p, Wide out_mm) {
        const Wide dx = Wide{r.x} - p.x_mm * 1000, dy = Wide{r.y} - p.y_mm * 1000;
        const Wide far = length(dx, dy);
        if (far > rule.aim_building_mm * 1000 || far == 0) return false;
        const View point{static_cast<Word>(p.x_mm * 1000 + dx * out_mm * 1000 / far),
                         static_cast<Word>(p.y_mm * 1000 + dy * out_mm * 1000 / far),
                         p.z_mm * 1000};
        return line_clear(muzzle(i), point, r.team);
    };
    if (outpost_up(enemy) && in_sight(field().outpost(enemy), rule.aim_clear_mm)) {
        return at_outpost();
    }
    if (in_sight(field().base_armour(enemy), 0)) return at_base();
    return {};
}

void Sim::aim() {
    const Settings& rule = s();
    const auto rate = static_cast<Word>(rate_from_mrad_s(rule.gimbal_rate_mrad_s));
    const auto down = static_cast<Word>(-turns_from_mdeg(rule.gimbal_down_deg * 1000));
    const auto up = static_cast<Word>(turns_from_mdeg(rule.gimbal_up_deg * 1000));
    for (int i = 0; i < count(); ++i) {
        Robot& r = robot(i);
        if (r.alive == 0 || model(i).drones != 0) continue;
        const Aiming wanted = aiming(i);
        r.aimed = wanted.valid;
        if (!wanted.valid) continue;
        r.wanted_yaw = wanted.yaw;
        r.wanted_pitch = std::clamp(wanted.pitch, down, up);
        const Word turn = std::clamp(turn_between(r.gimbal_yaw, r.wanted_yaw), -rate, rate);
        r.gimbal_yaw = wrap(Wide{r.gimbal_yaw} + turn);
        r.gimbal_pitch += std::clamp(r.wanted_pitch - r.gimbal_pitch, -rate, rate);
    }
}

Word Sim::fire_interval(int i) const {
    const Settings& rule = s();
    if (model(i).calibre == 42) return static_cast<Word>(rule.interval_42_ticks);
    const bool quick = model(i).role == Role::kSentry && robot(i).posture == 1;
    return static_cast<Word>(quick ? rule.interval_17_attack_ticks : rule.interval_17_ticks);
}

bool Sim::gun_ready(int i) const {
    const Robot& r = robot(i);
    const Model& kind = model(i);
    if (kind.calibre == 0 || !fights(i) || r.lock != 0) return false;
    if (kind.needs_module && r.mounted == 0) return false;
    return !kind.flyer || r.supporting != 0;
}

void Sim::fire() {
    const Settings& rule = s();
    const auto tolerance = static_cast<Word>(turns_from_mdeg(rule.aim_tolerance_mdeg));
    for (int i = 0; i < count(); ++i) {
        Robot& r = robot(i);
        const auto command = static_cast<Fire>(r.fire);
        if (command == Fire::kNo || !gun_ready(i)) continue;
        const bool large = model(i).calibre == 42;
        if (large ? r.ammo_42 <= 0 : r.ammo_17 + r.reserve <= 0) continue;
        if (now() - r.shot_tick < fire_interval(i)) continue;
        const bool free = command == Fire::kFree;
        if (!free &&
            (r.aimed == 0 || std::abs(turn_between(r.gimbal_yaw, r.wanted_yaw)) > tolerance)) {
            continue;
        }
        const bool cold = model(i).role == Role::kSentry && r.posture == 1 && r.strong != 0 &&
                          r.strong_ticks[1] < ticks(rule.posture_strong_s);
        const Wide heat = cold ? 0 : (large ? rule.heat_per_42 : rule.heat_per_17) * 1000;
        const Wide limit = Wide{table(model(i).heat, i)} * 1000;
        if (r.guard != 0 && r.heat + heat > limit) continue;

        const Wide speed_m = length(r.vx, r.vy);
        const Wide omega = std::abs(mrad_s_from_rate(r.yaw_rate));
        Wide sigma = (large ? rule.noise_42_mdeg : rule.noise_17_mdeg) +
                     rule.noise_per_speed_mdeg * speed_m / 1000 +
                     rule.noise_per_spin_mdeg * omega / 1000;
        const Word rune = team(r.team).rune_active;
        if (static_cast<Aim>(r.aim) == Aim::kRune && rune != 0) {
            sigma += rune == 2 ? rule.rune_noise_large_mdeg : rule.rune_noise_small_mdeg;
        }
        sigma = sigma * rule.shot_noise_pct / 100;
        const PhiloxBlock words =
            draw(Stream::kShot, r.team, r.slot, static_cast<std::uint32_t>(r.shots));
        const auto error = [&](std::uint32_t w0, std::uint32_t w1) {
            return normal(w0, w1) * sigma * kTurn / (kSigma * 360000);
        };
        const Word yaw = wrap((free ? r.gimbal_yaw : r.wanted_yaw) + error(words[0], words[1]));
        const Word pitch =
            wrap((free ? r.gimbal_pitch : r.wanted_pitch) + error(words[2], words[3]));
        const Wide speed = muzzle_speed(i);
        const Wide flat = speed * cosine(pitch) / kUnit;
        const View from = muzzle(i);
        Projectile p;
        p.id = state_.match.next_projectile++;
        p.team = r.team;
        p.slot = r.slot;
        p.calibre = model(i).calibre;
        p.x = from.x;
        p.y = from.y;
        p.z = from.z;
        p.vx = static_cast<Word>(flat * cosine(yaw) / kUnit);
        p.vy = static_cast<Word>(flat * sine(yaw) / kUnit);
        p.vz = static_cast<Word>(speed * sine(pitch) / kUnit);
        p.born = now();
        p.attack = team(r.team).rune_buff != 0 ? team(r.team).rune_attack : 0;
        p.attack_building = p.attack;
        if (r.deploy != 0 && r.deploy_ticks >= ticks(rule.deploy_setup_s)) {
            p.attack_building =
                std::max(p.attack_building, static_cast<Word>(rule.deploy_attack_pct * 10));
        }
        state_.projectiles.push_back(p);

        r.heat += static_cast<Word>(heat);
        if (large) {
            --r.ammo_42;
        } else if (r.reserve > 0) {
            --r.reserve;
        } else {
            --r.ammo_17;
        }
        ++r.shots;
        r.shot_tick = now();
        mark_combat(r);
        gain(i, (model(i).role == Role::kHero ? rule.exp_shot_hero : rule.exp_shot_other) * 10);
        tell(EventType::k_shot, {id_of(i), model(i).calibre}, 0);
    }
}

}  // namespace sysone::arena
