#include "arena/core/sim.h"

#include <algorithm>
#include <cstring>

#include "common/xxh64.h"

namespace sysone::arena {
namespace {

constexpr std::uint32_t kKeyMark = 0x524D5543;  // of the random streams, as published

Lineups checked(const Rules& rules, Lineups lineups) {
    for (auto& side : lineups.sides) {
        std::sort(side.begin(), side.end(),
                  [](const LineupEntry& a, const LineupEntry& b) { return a.slot < b.slot; });
        Word last = 0;
        for (const LineupEntry& entry : side) {
            if (entry.slot <= last || entry.slot >= kSlots) {
                throw RulesError("slot must be 1 to 7 and used once, not " +
                                 std::to_string(entry.slot));
            }
            if (rules.model(entry.model) == nullptr) {
                throw RulesError("no model of this season is numbered " +
                                 std::to_string(entry.model));
            }
            last = entry.slot;
        }
        if (side.size() > 6) throw RulesError("a side has at most six robots");
    }
    return lineups;
}

}  // namespace

Sim::Sim(std::shared_ptr<const Rules> rules, Lineups lineups, std::uint64_t seed,
         Word duration_ticks)
    : rules_(std::move(rules)),
      lineups_(checked(*rules_, std::move(lineups))),
      duration_(duration_ticks) {
    if (duration_ticks < 2 || duration_ticks % 2 != 0) {
        throw RulesError("duration must be a positive even number of ticks, not " +
                         std::to_string(duration_ticks));
    }
    reset(seed);
}

std::uint64_t Sim::seed() const noexcept {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(state_.match.seed_high)) << 32 |
           static_cast<std::uint32_t>(state_.match.seed_low);
}

int Sim::find(int t, int slot) const noexcept {
    return slot < 0 || slot >= kSlots
               ? -1
               : by_slot_[static_cast<std::size_t>(t)][static_cast<std::size_t>(slot)];
}

PhiloxBlock Sim::draw(Stream stream, int t, int slot, std::uint32_t index) const noexcept {
    return philox4x32({static_cast<std::uint32_t>(state_.tick),
                       static_cast<std::uint32_t>(stream) << 16 |
                           static_cast<std::uint32_t>(t) << 8 | static_cast<std::uint32_t>(slot),
                       index, 0},
                      {static_cast<std::uint32_t>(state_.match.seed_low),
                       static_cast<std::uint32_t>(state_.match.seed_high) ^ kKeyMark});
}

std::uint32_t Sim::seed_hint(int t) const {
    return philox4x32(
        {0,
         static_cast<std::uint32_t>(Stream::kStrategy) << 16 | static_cast<std::uint32_t>(t) << 8,
         0, 0},
        {static_cast<std::uint32_t>(state_.match.seed_low),
         static_cast<std::uint32_t>(state_.match.seed_high) ^ kKeyMark})[0];
}

std::optional<ScenarioError> Sim::reset(std::uint64_t seed, std::string_view scenario) {
    const Settings& rule = s();
    state_ = State{};
    models_.clear();
    for (auto& slots : by_slot_) slots.fill(-1);
    MatchState& match = state_.match;
    match.seed_low = static_cast<Word>(static_cast<std::uint32_t>(seed));
    match.seed_high = static_cast<Word>(static_cast<std::uint32_t>(seed >> 32));
    match.duration = duration_;
    match.winner = -1;
    match.highland_control = -1;
    match.highground_control.fill(-1);
    match.highground_rival.fill(-1);
    for (int t = 0; t < kTeams; ++t) {
        TeamState& side = team(t);
        side.coins = side.coins_total = static_cast<Word>(rule.initial_coins);
        side.dart_left = static_cast<Word>(rule.dart_count);
        side.radar_doubles = static_cast<Word>(rule.radar_doubles);
        side.base_hp = side.base_max = side.base_lowest = static_cast<Word>(rule.base_hp);
        side.base_shield = static_cast<Word>(rule.base_shield);
        side.outpost_hp = static_cast<Word>(rule.outpost_hp);
        side.outpost_angle = t == 0 ? 0 : kHalfTurn;
        side.sortie_drone = -1;
        side.recon_seen.fill(-1);
        side.report_seen.fill(-1);
        Roster& roster = rosters_[static_cast<std::size_t>(t)];
        roster = Roster{};
        roster.team = t;
        roster.second = rules_->is_2027();
        for (const LineupEntry& entry : lineups_.sides[static_cast<std::size_t>(t)]) {
            const Model& kind = *rules_->model(entry.model);
            roster.own[static_cast<std::size_t>(entry.slot)] = &kind;
            by_slot_[static_cast<std::size_t>(t)][static_cast<std::size_t>(entry.slot)] = count();
            const Point start =
                field().spawn(entry.slot, t, rules_->season(), lineups_.deck, kind.flyer);
            Robot r;
            r.team = t;
            r.slot = entry.slot;
            r.model = entry.model;
            r.alive = 1;
            r.level = 1;
            r.x = start.x_mm * 1000;
            r.y = start.y_mm * 1000;
            r.z = start.z_mm;
            r.yaw = r.gimbal_yaw = r.wanted_yaw = t == 0 ? 0 : kHalfTurn;
            r.heading = kKeep;
            r.guard = 1;
            r.revive_wish = 1;
            r.buffer = static_cast<Word>(rule.buffer_energy_j * 1000);
            r.energy = static_cast<Word>(rule.chassis_energy_j * 1000);
            r.shot_tick = -ticks(rule.duration_s);
            r.message_second = -1;
            if (kind.role == Role::kSentry) r.ammo_17 = static_cast<Word>(rule.sentry_initial_17);
            if (kind.flyer && kind.calibre != 0) {
                r.ammo_17 = static_cast<Word>(rule.aerial_initial_17);
                r.support_left = ticks(rule.support_start_s);
                r.z = static_cast<Word>(rule.aerial_height_mm);
            }
            state_.robots.push_back(r);
            models_.push_back(&kind);
            if (!kind.flyer) {
                Robot& placed = state_.robots.back();
                placed.z = field().ground(cell_of(placed));
            }
        }
    }
    for (std::size_t t = 0; t < kTeams; ++t) {
        rosters_[t].enemy = rosters_[1 - t].own;
        pending_[t] = current_[t] = SideAction{};
        messages_[t].clear();
        told_[t].clear();
        errors_[t].clear();
    }
    const auto n = state_.robots.size();
    defence_.assign(n, 0);
    before_.assign(n, {0, 0});
    push_x_.assign(n, 0);
    push_y_.assign(n, 0);
    sight_tick_ = -1;
    hits_.clear();
    events_.clear();
    recent_.clear();
    codes_.clear();
    digests_.clear();
    shots_.clear();
    digest_ = 0;
    for (int i = 0; i < count(); ++i) {
        Robot& r = robot(i);
        r.max_hp = table(model(i).hp, i);
        r.hp = r.max_hp;
        refresh_power(i);
    }
    reds_ = static_cast<int>(lineups_.sides[0].size());
    std::optional<ScenarioError> error;
    if (!scenario.empty()) error = apply_scenario(scenario);
    if (error) reset(seed);
    return error;
}

std::optional<ActionError> Sim::act(int t, std::string_view text, int slot) {
    const auto side = static_cast<std::size_t>(t);
    Roster& roster = rosters_[side];
    const Word second = now() / kTicksPerSecond;
    for (int i = 0; i < kSlots; ++i) {
        const int at = find(t, i);
        Word used = 0;
        if (i == 0) {
            used = 0;
        } else if (at >= 0 && robot(at).message_second == second) {
            used = robot(at).message_count;
        }
        roster.messages_left[static_cast<std::size_t>(i)] =
            static_cast<Word>(s().messages_per_s) - used;
    }
    auto error = read_action(text, *rules_, roster, slot, pending_[side]);
    if (error) {
        if (slot == 0) {
            pending_[side] = SideAction{};
        } else {
            pending_[side].robots[static_cast<std::size_t>(slot)] = RobotAction{};
        }
        error->slot = slot;
        told_[side].push_back(*error);
    }
    return error;
}

void Sim::act(int t, SideAction action) {
    pending_[static_cast<std::size_t>(t)] = std::move(action);
}

void Sim::drop_actions() {
    for (std::size_t t = 0; t < kTeams; ++t) {
        pending_[t] = SideAction{};
        told_[t].clear();
    }
}

Word Sim::heat_limit(int i) const { return model(i).calibre == 0 ? 0 : table(model(i).heat, i); }

int Sim::advance(int n) {
    digests_.clear();
    events_.clear();
    shots_.clear();
    fresh_ = true;
    int done = 0;
    while (done < n && !ended()) {
        tick();
        ++done;
    }
    return done;
}

void Sim::tell(EventType type, std::array<Word, 4> values, Word teams) {
    codes_.push_back(static_cast<Word>(type));
    const Event event{now(), type, values, teams};
    if (type != EventType::k_shot) recent_.push_back(event);
    if (type != EventType::k_shot || recording_) events_.push_back(event);
}

void Sim::tick() {
    codes_.clear();
    std::erase_if(recent_, [this](const Event& event) { return event.tick < now() - 1; });
    const bool decision = now() % 2 == 0;
    if (now() == 0) tell(EventType::k_match_start, {});
    if (decision) {
        see();
        if (fresh_) latch();
        fresh_ = false;
    }
    measure();
    clock();
    if (decision) orders();
    aim();
    fire();
    move();
    fly();
    damage();
    if (decision) settle();
    zones();
    systems();
    lives();
    end_check();
    digest();
    ++state_.tick;
}

void Sim::latch() {
    for (std::size_t t = 0; t < kTeams; ++t) {
        current_[t] = std::move(pending_[t]);
        pending_[t] = SideAction{};
        errors_[t] = std::move(told_[t]);
        told_[t].clear();
        messages_[t].clear();
    }
    for (int i = 0; i < count(); ++i) {
        Robot& r = robot(i);
        const RobotAction& action =
            current_[static_cast<std::size_t>(r.team)].robots[static_cast<std::size_t>(r.slot)];
        r.move_x = action.move_x;
        r.move_y = action.move_y;
        const Wide size = length(r.move_x, r.move_y);
        if (size > 1000) {
            r.move_x = static_cast<Word>(Wide{r.move_x} * 1000 / size);
            r.move_y = static_cast<Word>(Wide{r.move_y} * 1000 / size);
        }
        r.move_body = action.move_body;
        r.heading = action.heading;
        r.spin = action.spin;
        r.follow = action.follow;
        r.aim = static_cast<Word>(action.aim);
        r.aim_at = action.aim_at;
        r.fire = static_cast<Word>(action.fire);
        r.guard = action.guard;
        r.limiter = static_cast<Word>(action.limiter);
    }
}

// Defence as of the start of the tick.
void Sim::measure() {
    for (int i = 0; i < count(); ++i) defence_[static_cast<std::size_t>(i)] = defence_pm(i);
    for (int t = 0; t < kTeams; ++t) {
        building_defence_[static_cast<std::size_t>(t)] =
            team(t).rune_buff != 0 ? team(t).rune_defence : 0;
    }
}

int Sim::row_of(int i) const {
    if (model(i).by_tech) return std::max<int>(team(robot(i).team).tech_level, 1) - 1;
    return robot(i).level - 1;
}

Word Sim::table(const std::vector<Word>& values, int i) const {
    const auto row = static_cast<std::size_t>(row_of(i));
    return values[std::min(row, values.size() - 1)];
}

void Sim::add_buff(Robot& r, Word source, Word kind, Word value, Word end) {
    std::size_t free = r.buff_source.size();
    for (std::size_t i = 0; i < r.buff_source.size(); ++i) {
        if (r.buff_source[i] == source && r.buff_kind[i] == kind) free = i;
    }
    for (std::size_t i = 0; i < r.buff_source.size() && free == r.buff_source.size(); ++i) {
        if (r.buff_source[i] == 0) free = i;
    }
    if (free == r.buff_source.size()) return;
    r.buff_source[free] = source;
    r.buff_kind[free] = kind;
    r.buff_value[free] = value;
    r.buff_end[free] = end;
}

Word Sim::buff(const Robot& r, Word kind) const {
    Word most = 0;
    for (std::size_t i = 0; i < r.buff_source.size(); ++i) {
        if (r.buff_source[i] != 0 && r.buff_kind[i] == kind) most = std::max(most, r.buff_value[i]);
    }
    return most;
}

bool Sim::spend(int t, Wide coins) {
    if (team(t).coins < coins) return false;
    team(t).coins -= static_cast<Word>(coins);
    return true;
}

void Sim::refuse(int i, Name order, Name reason) {
    robot(i).last_error = static_cast<Word>(reason);
    const Word mine = Word{1} << robot(i).team;
    tell(EventType::k_refused, {id_of(i), static_cast<Word>(order), static_cast<Word>(reason)},
         mine);
}

void Sim::end_check() {
    MatchState& match = state_.match;
    const bool time_up = now() + 1 >= match.duration;
    const bool fallen = team(0).base_hp <= 0 || team(1).base_hp <= 0;
    if (!time_up && !fallen) return;
    // each rule gives what red and blue have; the first difference decides
    const auto decide = [&match](Wide red, Wide blue, Name reason) {
        if (red == blue) return false;
        match.winner = red > blue ? 0 : 1;
        match.reason = static_cast<Word>(reason);
        return true;
    };
    const auto hp = [this](int t) {
        Wide sum = 0;
        for (int i = 0; i < count(); ++i) {
            if (robot(i).team == t && robot(i).alive != 0) sum += robot(i).hp;
        }
        return sum;
    };
    const auto judge = [&] {
        const TeamState& red = team(0);
        const TeamState& blue = team(1);
        if (decide(red.base_hp, blue.base_hp, fallen ? Name::k_base_destroyed : Name::k_base_hp)) {
            return true;
        }
        if (fallen) return false;
        const bool red_fell = red.outpost_destroyed > 0, blue_fell = blue.outpost_destroyed > 0;
        if (!red_fell && !blue_fell &&
            decide(red.outpost_hp, blue.outpost_hp, Name::k_outpost_hp)) {
            return true;
        }
        return decide(!red_fell, !blue_fell, Name::k_outpost_destroyed) ||
               decide(red.attack_damage, blue.attack_damage, Name::k_attack_damage) ||
               decide(hp(0), hp(1), Name::k_robots_hp);
    };
    if (!judge()) {
        match.winner = -1;
        match.reason = static_cast<Word>(Name::k_draw);
    }
    state_.phase = Phase::kEnded;
    tell(EventType::k_match_end,
         {match.winner < 0 ? kNobody : team_id(match.winner), match.reason});
}

namespace {

void put(std::vector<std::uint8_t>& out, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    const std::size_t at = out.size();
    out.resize(at + bytes);
    std::memcpy(out.data() + at, from, bytes);
}

template <typename Value>
void put(std::vector<std::uint8_t>& out, Value value) {
    put(out, &value, sizeof value);
}

void encode(const State& state, const std::vector<Word>& codes, std::vector<std::uint8_t>& out) {
    out.clear();
    put(out, kCanonFormat);
    put(out, state.tick);
    put(out, static_cast<std::uint8_t>(state.phase));
    put(out, &state.match, sizeof state.match);
    put(out, state.teams.data(), sizeof state.teams);
    put(out, state.robots.data(), state.robots.size() * sizeof(RobotState));
    put(out, static_cast<std::uint16_t>(state.projectiles.size()));
    put(out, state.projectiles.data(), state.projectiles.size() * sizeof(Projectile));
    put(out, static_cast<std::uint16_t>(codes.size()));
    put(out, codes.data(), codes.size() * sizeof(Word));
}

}  // namespace

void Sim::digest() {
    if (!digesting_) return;
    encode(state_, codes_, canon_);
    digest_ = xxh64(canon_);
    digests_.push_back(digest_);
}

std::string Sim::canon() const {
    std::vector<std::uint8_t> bytes;
    encode(state_, codes_, bytes);
    return {bytes.begin(), bytes.end()};
}

}  // namespace sysone::arena
