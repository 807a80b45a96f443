// Robots in motion, their overlaps, and what motion costs.
#include <algorithm>
#include <cstdlib>

#include "arena/core/sim.h"

namespace sysone::arena {

Wide Sim::effective_limit(int i) const {
    const Robot& r = robot(i);
    const Settings& rule = s();
    Wide limit = r.power_limit;
    const auto mode = static_cast<Limiter>(r.limiter);
    if (mode == Limiter::kBoost && r.buffer > rule.power_boost_from_j * 1000) {
        limit += rule.power_boost_mw;
    }
    if (mode == Limiter::kRaw) limit += rule.power_raw_mw;
    return limit;
}

// Demand in milliwatts at a speed after another, in mm/s.
Wide Sim::demand(int i, Wide speed, Wide before) const {
    const Settings& rule = s();
    const Wide mass = model(i).mass_kg;
    const Wide omega = mrad_s_from_rate(robot(i).yaw_rate);
    return rule.power_idle_mw +
           mass *
               (rule.power_linear_mw * speed +
                rule.power_square_num * speed * speed / rule.power_square_den) /
               rule.power_mass_ref_kg +
           mass * std::max<Wide>(0, speed - before) * speed / rule.power_accel_div +
           omega * omega / rule.power_spin_div;
}

void Sim::turn(int i) {
    Robot& r = robot(i);
    const Settings& rule = s();
    Wide top = model(i).spin_rate;
    if (!model(i).flyer && static_cast<Limiter>(r.limiter) == Limiter::kSafe) {
        const Wide share = r.power_limit * rule.power_spin_share_pct / 100;
        const auto omega = static_cast<Wide>(
            isqrt(static_cast<std::uint64_t>(std::max<Wide>(share, 0) * rule.power_spin_div)));
        top = std::min(top, rate_from_mrad_s(omega));
    }
    Wide wanted = 0;
    const Wide tracking = Wide{model(i).spin_rate} * rule.spin_heading_pct / 100;
    const auto track = [&](Word heading) {
        return std::clamp<Wide>(turn_between(r.yaw, heading), -tracking, tracking);
    };
    if (r.spin != 0) {
        wanted = Wide{r.spin} * model(i).spin_rate / 1000;
    } else if (r.heading != kKeep) {
        wanted = track(r.heading);
    } else if (r.follow != 0) {
        wanted = track(r.gimbal_yaw);
    }
    if (r.cut > 0 || r.alive == 0) wanted = 0;
    wanted = std::clamp(wanted, -top, top);
    const Wide step = Wide{model(i).spin_rate} * rule.spin_step_pct / 100;
    r.yaw_rate += static_cast<Word>(std::clamp<Wide>(wanted - r.yaw_rate, -step, step));
    r.yaw = wrap(Wide{r.yaw} + r.yaw_rate);
}

void Sim::drive(int i) {
    Robot& r = robot(i);
    const Settings& rule = s();
    const Model& kind = model(i);
    const Wide before = length(r.vx, r.vy);
    const bool cut = r.cut > 0;
    const Wide most = cut ? rule.power_cut_decay_mm_s2 / kTicksPerSecond
                          : Wide{kind.accel_mm_s2} / kTicksPerSecond;
    Wide mx = r.move_x, my = r.move_y;
    if (cut || r.deploy != 0) mx = my = 0;
    const Wide cos_yaw = cosine(r.yaw), sin_yaw = sine(r.yaw);
    if (r.move_body != 0) {
        const Wide x = (mx * cos_yaw - my * sin_yaw) / kUnit;
        my = (mx * sin_yaw + my * cos_yaw) / kUnit;
        mx = x;
    }
    Wide cap = kind.speed_mm_s;
    const Wide limit = effective_limit(i);
    if (!kind.flyer) {
        const Wide omega = mrad_s_from_rate(r.yaw_rate);
        const Wide left =
            std::max<Wide>(0, limit - rule.power_idle_mw - omega * omega / rule.power_spin_div);
        cap = cap *
              static_cast<Wide>(
                  isqrt(static_cast<std::uint64_t>(left * 1000000 / rule.power_ref_mw))) /
              1000;
        const int cell = cell_of(r);
        cap = cap * field().rough_pct(cell) / 100;
        if (const Gate* gate = field().gate(cell)) cap = cap * gate->speed_pct / 100;
        if (r.carrying != 0) cap = cap * rule.carry_speed_pct / 100;
        if (kind.legged && before > 0) {
            const auto ahead_x = static_cast<Wide>(r.x) + rule.jump_ahead_mm * 1000 * r.vx / before;
            const auto ahead_y = static_cast<Wide>(r.y) + rule.jump_ahead_mm * 1000 * r.vy / before;
            if (field().inside(ahead_x, ahead_y)) {
                const Word rise =
                    std::abs(field().ground(field().cell(static_cast<Word>(ahead_x),
                                                         static_cast<Word>(ahead_y), r.team)) -
                             field().ground(cell));
                if (rise > rule.ledge_free_mm && rise <= rule.ledge_gate_mm) {
                    cap = cap * rule.jump_speed_pct / 100;
                }
            }
        }
    }
    Wide tx = mx * cap / 1000, ty = my * cap / 1000;
    if (kind.strafe_pct != 100) {
        const Wide across = (-tx * sin_yaw + ty * cos_yaw) / kUnit;
        const Wide less = across * (100 - kind.strafe_pct) / 100;
        tx += less * sin_yaw / kUnit;
        ty -= less * cos_yaw / kUnit;
    }
    Wide dx = tx - r.vx, dy = ty - r.vy;
    const Wide change = length(dx, dy);
    if (change > most) {
        dx = dx * most / change;
        dy = dy * most / change;
    }
    Wide vx = r.vx + dx, vy = r.vy + dy;
    Wide speed = length(vx, vy);
    if (!kind.flyer && !cut && static_cast<Limiter>(r.limiter) == Limiter::kSafe &&
        demand(i, speed, before) > limit) {
        // the largest speed within the limit, but no harder braking than the chassis has
        Wide low = std::min(std::max<Wide>(0, before - most), speed);
        Wide high = speed;
        while (low < high) {
            const Wide middle = (low + high + 1) / 2;
            if (demand(i, middle, before) <= limit) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        vx = vx * low / speed;
        vy = vy * low / speed;
        speed = length(vx, vy);
    }
    r.vx = static_cast<Word>(vx);
    r.vy = static_cast<Word>(vy);
    r.power_before = r.power_demand;
    r.power_demand = kind.flyer || cut ? 0 : static_cast<Word>(demand(i, speed, before));
}

bool Sim::step_allowed(int i, int from, int to) const {
    if (from == to) return true;
    const Model& kind = model(i);
    const Field& ground = field();
    if (ground.blocked(kind.blocked, to)) return false;
    const Gate* here = ground.gate(from);
    const Gate* there = ground.gate(to);
    const auto passes = [&](const Gate* gate) {
        return (kind.passes >> static_cast<unsigned>(gate->need) & 1u) != 0;
    };
    if (there != nullptr && there->need == Need::kTunnel && !passes(there)) return false;
    const Word rise = ground.ground(to) - ground.ground(from);
    if (std::abs(rise) <= s().ledge_free_mm) return true;
    for (const Gate* gate : {here, there}) {
        if (gate == nullptr || gate->need != Need::kFlyRamp) continue;
        return passes(gate) && rise < 0 && robot(i).vx * gate->direction >= gate->min_speed_mm_s;
    }
    if (std::abs(rise) > s().ledge_gate_mm) return false;
    return kind.legged || (here != nullptr && passes(here)) || (there != nullptr && passes(there));
}

// In parts of at most one cell. A refused part slides along its larger component, then the other.
void Sim::displace(int i) {
    Robot& r = robot(i);
    const Wide whole_x = Wide{r.vx} * kTickMs, whole_y = Wide{r.vy} * kTickMs;
    r.stuck = 0;
    if (whole_x == 0 && whole_y == 0) return;
    if (model(i).flyer) {
        const Wide radius = Wide{model(i).radius_mm} * 1000;
        const Wide half = field().width_um() / 2, beyond = s().aerial_beyond_mm * 1000;
        const Wide low = r.team == 0 ? radius : half - beyond;
        const Wide high = r.team == 0 ? half + beyond : field().width_um() - radius;
        const Wide x = std::clamp(r.x + whole_x, low, high);
        const Wide y = std::clamp(r.y + whole_y, radius, field().height_um() - radius);
        if (x != r.x + whole_x) r.vx = 0, r.stuck = 1;
        if (y != r.y + whole_y) r.vy = 0, r.stuck = 1;
        r.x = static_cast<Word>(x);
        r.y = static_cast<Word>(y);
        return;
    }
    const Wide longest = std::max(std::abs(whole_x), std::abs(whole_y));
    const Wide n = std::max<Wide>(1, (longest + Field::kCellUm - 1) / Field::kCellUm);
    bool refused_x = false, refused_y = false;
    const auto go = [&](Wide dx, Wide dy) {
        if (dx == 0 && dy == 0) return false;
        const Wide x = r.x + dx, y = r.y + dy;
        if (!field().inside(x, y) ||
            !field().inside(field().width_um() - x, field().height_um() - y)) {
            return false;
        }
        const int to = field().cell(static_cast<Word>(x), static_cast<Word>(y), r.team);
        if (!step_allowed(i, cell_of(r), to)) return false;
        r.x = static_cast<Word>(x);
        r.y = static_cast<Word>(y);
        return true;
    };
    for (Wide k = 1; k <= n; ++k) {
        const Wide dx = whole_x * k / n - whole_x * (k - 1) / n;
        const Wide dy = whole_y * k / n - whole_y * (k - 1) / n;
        if (go(dx, dy)) continue;
        const bool x_first = std::abs(dx) >= std::abs(dy);
        if (x_first ? go(dx, 0) : go(0, dy)) {
            (x_first ? refused_y : refused_x) = true;
        } else if (x_first ? go(0, dy) : go(dx, 0)) {
            (x_first ? refused_x : refused_y) = true;
        } else {
            refused_x = refused_y = true;
            break;
        }
    }
    if (refused_x) r.vx = 0;
    if (refused_y) r.vy = 0;
    r.stuck = refused_x || refused_y;
    r.z = field().ground(cell_of(r));
}

void Sim::move() {
    for (int i = 0; i < count(); ++i) {
        Robot& r = robot(i);
        if (model(i).drones != 0) continue;
        turn(i);
        if (r.alive == 0) {
            r.stuck = 0;
            continue;
        }
        drive(i);
        displace(i);
    }
    part_overlaps();
}

void Sim::part_overlaps() {
    const Settings& rule = s();
    std::array<Wide, 12> less_x{}, less_y{};
    std::fill(push_x_.begin(), push_x_.end(), 0);
    std::fill(push_y_.begin(), push_y_.end(), 0);
    bool any = false;
    for (int a = 0; a < count(); ++a) {
        if (model(a).flyer) continue;
        for (int b = a + 1; b < count(); ++b) {
            if (model(b).flyer) continue;
            const Robot& first = robot(a);
            const Robot& second = robot(b);
            const Wide reach = Wide{model(a).radius_mm + model(b).radius_mm} * 1000;
            Wide dx = Wide{second.x} - first.x, dy = Wide{second.y} - first.y;
            if (std::abs(dx) >= reach || std::abs(dy) >= reach) continue;
            Wide far = length(dx, dy);
            if (far >= reach) continue;
            any = true;
            const Wide overlap = reach - far;
            if (far == 0) {
                // red toward its own base against blue; of one team the lower slot toward it
                dx = first.team == second.team && first.team == 1 ? -1 : 1;
                dy = 0;
                far = 1;
            }
            const auto fixed = [](const Robot& r) { return r.alive == 0 || r.deploy != 0; };
            const Wide share_a = fixed(first) ? 0 : fixed(second) ? overlap : overlap / 2;
            const Wide share_b = fixed(second) ? 0 : fixed(first) ? overlap : overlap / 2;
            const auto ia = static_cast<std::size_t>(a), ib = static_cast<std::size_t>(b);
            push_x_[ia] -= dx * share_a / far;
            push_y_[ia] -= dy * share_a / far;
            push_x_[ib] += dx * share_b / far;
            push_y_[ib] += dy * share_b / far;
            const Wide toward_b = (first.vx * dx + first.vy * dy) / far;
            const Wide toward_a = -(second.vx * dx + second.vy * dy) / far;
            if (toward_b + toward_a > 0) {
                if (toward_b > 0) {
                    less_x[ia] += toward_b * dx / far;
                    less_y[ia] += toward_b * dy / far;
                }
                if (toward_a > 0) {
                    less_x[ib] -= toward_a * dx / far;
                    less_y[ib] -= toward_a * dy / far;
                }
            }
            if (first.team == second.team || toward_b + toward_a < rule.collision_min_speed_mm_s) {
                continue;
            }
            const auto pair = static_cast<std::size_t>(a * 6 + b - reds_);
            if (now() < state_.match.collision_until[pair]) continue;
            state_.match.collision_until[pair] = now() + ticks_ms(rule.collision_pause_ms);
            for (const auto& [victim, other] : {std::pair{a, b}, std::pair{b, a}}) {
                Hit hit;
                hit.order = INT32_MAX;
                hit.attacker = other;
                hit.attacker_team = robot(other).team;
                hit.victim = victim;
                hit.base_damage = static_cast<Word>(rule.dmg_collision);
                hit.collision = true;
                hits_.push_back(hit);
            }
        }
    }
    if (!any) return;
    // what is taken off a velocity never turns it round
    const auto slow = [](Word v, Wide less) {
        const Wide left = v - less;
        return static_cast<Word>(v > 0 ? std::clamp<Wide>(left, 0, v)
                                       : std::clamp<Wide>(left, v, 0));
    };
    for (int i = 0; i < count(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        Robot& r = robot(i);
        if (less_x[at] != 0 || less_y[at] != 0) {
            r.vx = slow(r.vx, less_x[at]);
            r.vy = slow(r.vy, less_y[at]);
        }
        if (push_x_[at] == 0 && push_y_[at] == 0) continue;
        const Wide x = r.x + push_x_[at], y = r.y + push_y_[at];
        if (!field().inside(x, y) ||
            !field().inside(field().width_um() - x, field().height_um() - y)) {
            continue;
        }
        const int to = field().cell(static_cast<Word>(x), static_cast<Word>(y), r.team);
        if (field().blocked(model(i).blocked, to)) continue;
        r.x = static_cast<Word>(x);
        r.y = static_cast<Word>(y);
        r.z = field().ground(to);
    }
}

// Every tenth of a second: cooling and launcher locks, power, buffer and chassis energy.
void Sim::settle() {
    const Settings& rule = s();
    for (int i = 0; i < count(); ++i) {
        Robot& r = robot(i);
        if (r.alive == 0 || model(i).drones != 0) continue;
        if (model(i).calibre != 0) {
            const bool large = model(i).calibre == 42;
            const Wide limit = Wide{table(model(i).heat, i)} * 1000;
            const Wide fatal = (large ? rule.heat_fatal_42 : rule.heat_fatal_17) * 1000;
            const Word before = r.lock;
            if (r.heat > limit + fatal) {
                r.lock = 2;
            } else if (r.heat > limit && r.lock == 0) {
                r.lock = 1;
            }
            if (r.lock > before) {
                tell(
                    EventType::k_launcher_locked,
                    {id_of(i), static_cast<Word>(r.lock == 2 ? Name::k_match : Name::k_until_zero)},
                    Word{1} << r.team);
            }
            r.heat = std::max(0, r.heat - cooling_of(i) / 10);
            if (r.lock == 1 && r.heat == 0) r.lock = 0;
        }
        if (model(i).flyer || r.cut > 0) continue;
        const Wide power = (Wide{r.power_before} + r.power_demand) / 2;
        const Wide full = rule.buffer_energy_j * 1000;
        r.buffer = static_cast<Word>(std::min(full, r.buffer + (r.power_limit - power) / 10));
        if (r.buffer <= 0 && power > r.power_limit) {
            r.buffer = 0;
            r.cut = ticks(rule.power_cut_s);
            tell(EventType::k_power_cut, {id_of(i)}, Word{1} << r.team);
        }
        r.energy = static_cast<Word>(std::max<Wide>(0, r.energy - power / 10));
        if (in_zone(i, Zone::kSupply, r.team)) {
            const Wide most = rule.chassis_energy_max_j * 1000;
            r.energy = static_cast<Word>(
                std::max<Wide>(r.energy, std::min(most, r.energy + rule.energy_charge_j_s * 100)));
        }
    }
}

}  // namespace sysone::arena
