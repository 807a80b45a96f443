// One match. `tick` runs the phases of a tick in their fixed order; each phase has a file of its
// own:
//
//   sight      what each robot sees                     (sight.cpp)
//   latch      actions become commands and orders       (sim.cpp)
//   clock      income, chances, deliveries, expiry      (clock.cpp)
//   orders     what acts once                           (orders.cpp)
//   aim, fire  gimbals and new projectiles              (aim.cpp)
//   move       robots and their overlaps                (motion.cpp)
//   fly        projectiles, hits collected              (flight.cpp)
//   damage     hits applied together                    (damage.cpp)
//   settle     cooling, power, buffer                   (motion.cpp)
//   zones      occupancy, crossings, captures           (zones.cpp)
//   systems    runes, darts, radar, drones              (systems.cpp)
//   lives      levels, deaths, revivals                 (lives.cpp)
//   end, digest                                         (sim.cpp)
//
// Red and blue are processed so that the result does not depend on which comes first, and every
// lookup in the field is made as the robot's team sees it: a match mirrors exactly.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arena/core/actions.h"
#include "arena/core/events.h"
#include "arena/core/rules.h"
#include "arena/core/state.h"
#include "common/philox.h"

namespace sysone::arena {

struct LineupEntry {
    Word slot = 0;
    Word model = 0;
};
struct Lineups {
    std::array<std::vector<LineupEntry>, kTeams> sides;
    bool deck = false;  // free slots: starts at the deck's places
};

struct ScenarioError {
    std::string code, path, message;
};

// The streams of random numbers; a draw is known by its place and nothing is kept.
enum class Stream : std::uint32_t { kShot = 1, kRune, kDart, kRadar, kDrone, kStrategy, kScenario };

struct Shot {
    Word tick, team, slot, x1, y1, x2, y2, hit;
};

class Sim {
  public:
    Sim(std::shared_ptr<const Rules> rules, Lineups lineups, std::uint64_t seed,
        Word duration_ticks);

    // Starts the match anew. A scenario, JSON text, changes the start; its error leaves the match
    // as a fresh one without it.
    std::optional<ScenarioError> reset(std::uint64_t seed, std::string_view scenario = {});

    // Gives the next decision's action of a side (slot 0) or of one robot. On an error the side or
    // the robot holds.
    std::optional<ActionError> act(int team, std::string_view text, int slot = 0);
    // The same for a side's action that was made here and needs no check.
    void act(int team, SideAction action);
    // Forgets what was given for the next decision, and the errors of it.
    void drop_actions();
    // Runs up to n ticks, an even number; ends with the match. The actions given stay in force for
    // all of them; what acts once acts in the first.
    int advance(int n);

    // Brings sight up to the state as it stands; the next decision's is the same.
    void look() { see(); }
    const Model& model_of(int robot_index) const { return model(robot_index); }
    Word heat_limit(int robot_index) const;

    const State& state() const noexcept { return state_; }
    const Rules& rules() const noexcept { return *rules_; }
    const Lineups& lineups() const noexcept { return lineups_; }
    bool ended() const noexcept { return state_.phase == Phase::kEnded; }
    std::uint64_t seed() const noexcept;

    std::uint64_t tick_digest() const noexcept { return digest_; }
    const std::vector<std::uint64_t>& digests() const noexcept { return digests_; }  // of `advance`
    const std::vector<Event>& events() const noexcept { return events_; }            // of `advance`
    const std::vector<Shot>& shots() const noexcept { return shots_; }               // of `advance`
    std::string canon() const;

    void observe(int team, bool compact, int slot, std::string& out);
    void set_recording(bool on) noexcept { recording_ = on; }
    void set_digests(bool on) noexcept { digesting_ = on; }
    std::uint32_t seed_hint(int team) const;

  private:
    using Robot = RobotState;
    struct Hit {
        Word order = 0;     // projectile id, or a place after all of them
        int attacker = -1;  // robot, or -1
        int attacker_team = 0;
        int victim = -1;  // robot, or -1 for a building
        Building building = Building::kNone;
        Word base_damage = 0;
        Word attack_pm = 0;
        Word plate = 0;
        bool pierces_outpost_guard = false;
        bool collision = false;
    };
    struct Aiming {
        bool valid = false;
        Word yaw = 0, pitch = 0;
    };
    struct View {
        Word x = 0, y = 0, z = 0;  // micrometres
    };

    // helpers
    const Settings& s() const noexcept { return rules_->settings(); }
    const Field& field() const noexcept { return rules_->field(); }
    Word now() const noexcept { return state_.tick; }
    static Word ticks(Wide seconds) noexcept {
        return static_cast<Word>(seconds * kTicksPerSecond);
    }
    static Word ticks_ms(Wide ms) noexcept { return static_cast<Word>(ms / kTickMs); }
    TeamState& team(int t) { return state_.teams[static_cast<std::size_t>(t)]; }
    const TeamState& team(int t) const { return state_.teams[static_cast<std::size_t>(t)]; }
    int count() const noexcept { return static_cast<int>(state_.robots.size()); }
    Robot& robot(int i) { return state_.robots[static_cast<std::size_t>(i)]; }
    const Robot& robot(int i) const { return state_.robots[static_cast<std::size_t>(i)]; }
    const Model& model(int i) const { return *models_[static_cast<std::size_t>(i)]; }
    int find(int t, int slot) const noexcept;
    int cell_of(const Robot& r) const noexcept { return field().cell(r.x, r.y, r.team); }
    Word id_of(int i) const { return event_id(robot(i).team, robot(i).slot); }
    int row_of(int i) const;  // of the model's tables
    Word table(const std::vector<Word>& values, int i) const;
    bool gun_ready(int i) const;  // has a launcher that may fire at all
    bool fights(int i) const { return robot(i).alive != 0 && robot(i).weak == 0; }
    bool outpost_up(int t) const { return team(t).outpost_hp > 0; }
    PhiloxBlock draw(Stream stream, int t, int slot, std::uint32_t index) const noexcept;
    static Word uniform(std::uint32_t word, Word n) noexcept {
        return static_cast<Word>(std::uint64_t{word} * static_cast<std::uint64_t>(n) >> 32);
    }
    void tell(EventType type, std::array<Word, 4> values, Word teams = 3);
    void refuse(int i, Name order, Name reason);
    void add_buff(Robot& r, Word source, Word kind, Word value, Word end);
    Word buff(const Robot& r, Word kind) const;
    Word defence_pm(int i) const;
    Word cooling_of(int i) const;  // per second, in thousandths of heat
    Word power_base_w(int i) const;
    void refresh_power(int i);
    void refresh_max(int i);
    bool spend(int t, Wide coins);
    bool in_zone(int i, Zone zone, int side) const;  // occupies it, under the zone's conditions
    bool sheltered(int i) const;                     // an engineer that nothing hurts at its work
    void mark_combat(Robot& r) { r.combat_end = now() + ticks(s().out_of_combat_s); }
    bool out_of_combat(const Robot& r) const { return now() >= r.combat_end; }
    bool line_clear(View from, View to, int t) const;
    View muzzle(int i) const;
    View armour(int i) const;

    // phases
    void tick();
    void see();
    void latch();
    void clock();
    void orders();
    void measure();
    void aim();
    void fire();
    void move();
    void fly();
    void damage();
    void settle();
    void zones();
    void systems();
    void lives();
    void end_check();
    void digest();

    // sight
    bool sees(int a, int b) const;

    // orders
    void order_posture(int i, const RobotAction& action);
    void order_deploy(int i, const RobotAction& action);
    void order_revive(int i, const RobotAction& action);
    void order_buy(int i, const RobotAction& action);
    void order_work(int i, const RobotAction& action);
    void order_support(int i, const RobotAction& action);
    void order_sortie(int i, const RobotAction& action);
    void order_rune(int i);
    void order_dart(int t, Word target);
    void order_radar(int t, const TeamAction& action);
    void say(int t, int i, const Message& message);
    bool pay_command(int i, const RobotAction& action, Name order);

    // aim and fire
    Aiming aiming(int i);
    Aiming lead(int i, View target, Word vx, Word vy, Wide inset_um, Wide speed) const;
    Aiming toward(int i, View point, Wide speed) const;
    View rune_arm(int t, int arm, Word angle) const;
    Word rune_angle_after(int t, Word ticks_ahead) const;
    Word rune_step(const TeamState& side, Word ticks_in) const;
    int rune_aim_arm(int t) const;
    Word fire_interval(int i) const;
    Wide muzzle_speed(int i) const;

    // motion
    void turn(int i);
    void drive(int i);
    void displace(int i);
    bool step_allowed(int i, int from, int to) const;
    void part_overlaps();
    Wide effective_limit(int i) const;
    Wide demand(int i, Wide speed, Wide before) const;

    // flight
    bool fly_one(Projectile& p);
    bool meet_robot(const Projectile& p, int i, Wide x, Wide y, Wide z);
    void meet_building(const Projectile& p, Building building, Wide x, Wide y, Wide z);
    bool meet_rune(const Projectile& p, Wide y, Wide z);
    void note_shot(const Projectile& p, Wide x, Wide y, bool hit);

    // damage
    void hit_robot(int victim, std::vector<Hit*>& hits);
    void hit_building(Building building, std::vector<Hit*>& hits);
    Word hurt_base(int t, Word amount);
    void hurt_outpost(int t, Word amount);
    void gain(int i, Wide tenths);
    void kill(int victim, int killer);
    void open_base(int t);
    void base_maybe_opens(int t);

    // zones
    void occupy(int i);
    void cross(int i);
    void crossed(int i, Crossing kind, bool middle);
    void highland();
    void highground();
    void fortress(int t);
    void heal(int i);
    void rebuild(int t);
    void work(int i);
    void assembly_done(int i);
    void penalty(int i);

    // systems
    void rune(int t);
    void rune_light(int t, std::uint32_t index);
    void rune_hit(int t, int arm, Word ring, int by);
    void rune_fail(int t);
    void rune_success(int t);
    void dart(int t);
    void radar(int t);
    void aerial(int i);
    void drones(int t);

    // lives
    void raise_levels(int i);
    void revive(int i);
    void come_back(int i, Wide hp_pct, bool bought);

    // scenario
    std::optional<ScenarioError> apply_scenario(std::string_view text);

    std::shared_ptr<const Rules> rules_;
    Lineups lineups_;
    Word duration_ = 0;
    State state_;
    std::vector<const Model*> models_;
    std::array<std::array<int, kSlots>, kTeams> by_slot_{};
    std::array<Roster, kTeams> rosters_{};
    std::array<SideAction, kTeams> pending_{};
    std::array<SideAction, kTeams> current_{};
    std::vector<Message> messages_[kTeams];  // of the last decision
    std::vector<ActionError> told_[kTeams];  // errors for the next observation
    std::vector<ActionError> errors_[kTeams];
    Word sight_tick_ = -1;
    int reds_ = 0;  // red robots, which come first

    std::vector<Hit> hits_;
    std::vector<Word> defence_;  // of each robot, as of the start of the tick
    std::array<Word, kTeams> building_defence_{};
    std::vector<std::pair<Word, Word>> before_;  // positions before the tick's move
    std::vector<Wide> push_x_, push_y_;

    std::uint64_t digest_ = 0;
    std::vector<std::uint8_t> canon_;
    std::vector<std::uint64_t> digests_;
    std::vector<Event> events_;
    std::vector<Event> recent_;  // of the last two ticks
    std::vector<Word> codes_;    // of this tick
    std::vector<Shot> shots_;
    bool fresh_ = false;  // whether given actions wait to be latched
    bool recording_ = false;
    bool digesting_ = true;
};

}  // namespace sysone::arena
