#include "arena/fast/batch.h"

#include <algorithm>

namespace sysone::arena {
namespace {

constexpr Word kTicksPerDecision = 2;

// What stays in force of an action after its first decision: all but its orders.
SideAction kept(const SideAction& action) {
    SideAction rest;
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
        const RobotAction& from = action.robots[slot];
        RobotAction& to = rest.robots[slot];
        to.controlled = from.controlled;
        to.by_team = from.by_team;
        to.move_x = from.move_x;
        to.move_y = from.move_y;
        to.move_body = from.move_body;
        to.heading = from.heading;
        to.spin = from.spin;
        to.follow = from.follow;
        to.aim = from.aim;
        to.aim_at = from.aim_at;
        to.fire = from.fire;
        to.guard = from.guard;
        to.limiter = from.limiter;
    }
    return rest;
}

}  // namespace

Crew::Crew(int threads) {
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { labour(); });
}

Crew::~Crew() {
    ending_ = true;
    ++round_;
    round_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Crew::run(int count) {
    count_ = count;
    problem_ = nullptr;
    next_ = 0;
    busy_ = static_cast<int>(threads_.size());
    ++round_;
    round_.notify_all();
    take_turns();
    for (int busy = busy_; busy != 0; busy = busy_) busy_.wait(busy);
    if (problem_) std::rethrow_exception(problem_);
}

void Crew::take_turns() {
    for (int i = next_++; i < count_; i = next_++) {
        try {
            job_(context_, i);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            problem_ = std::current_exception();
        }
    }
}

void Crew::labour() {
    std::uint32_t seen = 0;
    while (true) {
        round_.wait(seen);
        seen = round_;
        if (ending_) return;
        take_turns();
        --busy_;
        busy_.notify_all();
    }
}

SimBatch::SimBatch(std::shared_ptr<const Rules> rules, const Lineups& lineups, BatchOptions options,
                   BatchArrays arrays)
    : rules_(rules),
      options_(std::move(options)),
      arrays_(arrays),
      spaces_(rules, lineups, options_.rows),
      navigator_(rules),
      crew_(options_.threads) {
    envs_.resize(static_cast<std::size_t>(options_.envs));
    for (Env& env : envs_) {
        env.sim = std::make_unique<Sim>(rules_, lineups, 0, options_.duration_ticks);
        env.sim->set_digests(options_.digests);
        if (options_.digests) {
            env.digests.reserve(static_cast<std::size_t>(options_.duration_ticks));
        }
    }
    if (!options_.scenario.empty()) {
        const auto error = envs_.front().sim->reset(0, options_.scenario);
        if (error) throw RulesError("scenario: " + error->path + " " + error->message);
    }
}

void SimBatch::reset(const std::vector<int>& envs) {
    crew_.each(static_cast<int>(envs.size()), [&](int i) {
        const int env = envs[static_cast<std::size_t>(i)];
        begin(env);
        const auto e = static_cast<std::size_t>(env);
        arrays_.rewards[2 * e] = arrays_.rewards[2 * e + 1] = 0;
        arrays_.terminated[e] = arrays_.truncated[e] = 0;
        arrays_.winner[e] = -1;
        show(env);
    });
}

void SimBatch::step() {
    crew_.each(options_.envs, [this](int env) { advance(env); });
}

void SimBatch::begin(int index) {
    Env& env = at(index);
    const auto e = static_cast<std::size_t>(index);
    const auto error = env.sim->reset(arrays_.seeds[e], options_.scenario);
    if (error) throw RulesError("scenario: " + error->path + " " + error->message);
    env.memory = {};
    env.last_digests.swap(env.digests);
    env.digests.clear();
    env.score = {};
    env.steps = 0;
    env.over = false;
    env.ended_before = false;
    arrays_.began[e] = 1;
}

void SimBatch::act(Env& env, int index, bool first) {
    for (int t = 0; t < kTeams; ++t) {
        const auto team = static_cast<std::size_t>(t);
        if (options_.bots[team] != Bot::kNone) {
            env.sim->act(t, decide(options_.bots[team], *env.sim, t, navigator_, env.memory[team]));
        } else if (options_.driven[team]) {
            const std::size_t at = side(index, t) * static_cast<std::size_t>(options_.rows);
            const SideAction action =
                spaces_.read(t, {arrays_.move + 2 * at, arrays_.spin + at, arrays_.fire + at,
                                 arrays_.aim + at, arrays_.order + at});
            SideAction applied = first ? action : kept(action);
            spaces_.steer(*env.sim, t, arrays_.go + at, navigator_, applied);
            env.sim->act(t, std::move(applied));
        }
    }
}

bool SimBatch::steered(int env) const {
    const auto width = static_cast<std::size_t>(options_.rows);
    const std::int32_t* go = arrays_.go + side(env, 0) * width;
    return std::any_of(go, go + kTeams * width, [](std::int32_t goal) { return goal != 0; });
}

void SimBatch::advance(int index) {
    Env& env = at(index);
    const auto e = static_cast<std::size_t>(index);
    arrays_.began[e] = 0;
    arrays_.rewards[2 * e] = arrays_.rewards[2 * e + 1] = 0;
    if (env.over) {
        if (!env.ended_before || options_.autoreset != Autoreset::kNextStep) return;
        arrays_.seeds[e] += static_cast<std::uint64_t>(options_.envs);
        begin(index);
        arrays_.terminated[e] = arrays_.truncated[e] = 0;
        show(index);
        return;
    }
    Sim& sim = *env.sim;
    const bool bots = options_.bots[0] != Bot::kNone || options_.bots[1] != Bot::kNone;
    const int slice = bots || steered(index) ? kTicksPerDecision : options_.action_repeat;
    for (int tick = 0; tick < options_.action_repeat && !sim.ended(); tick += slice) {
        act(env, index, tick == 0);
        sim.advance(slice);
        env.digests.insert(env.digests.end(), sim.digests().begin(), sim.digests().end());
    }
    ++env.steps;
    double red = 0;
    if (options_.score) {
        const auto& teams = sim.state().teams;
        const std::array<Word, kTeams> now{teams[0].attack_damage, teams[1].attack_damage};
        red = options_.score_scale * ((now[0] - env.score[0]) - (now[1] - env.score[1]));
        env.score = now;
    }
    const Word winner = sim.state().match.winner;
    if (sim.ended() && winner >= 0) red += winner == 0 ? 1 : -1;
    arrays_.rewards[2 * e] = static_cast<float>(red);
    arrays_.rewards[2 * e + 1] = static_cast<float>(-red);
    const bool ended = sim.ended();
    const bool cut = !ended && options_.max_steps > 0 && env.steps >= options_.max_steps;
    arrays_.terminated[e] = ended;
    arrays_.truncated[e] = cut;
    if (ended || cut) {
        env.over = env.ended_before = true;
        arrays_.winner[e] = ended ? winner : -1;
        if (options_.autoreset == Autoreset::kSameStep) {
            keep_final(index);
            arrays_.seeds[e] += static_cast<std::uint64_t>(options_.envs);
            begin(index);
        }
    }
    show(index);
}

void SimBatch::write(Sim& sim, int env, float* own, float* mates, float* enemies, float* globals) {
    const auto rows = static_cast<std::size_t>(options_.rows);
    for (int t = 0; t < kTeams; ++t) {
        if (!options_.driven[static_cast<std::size_t>(t)]) continue;
        const std::size_t at = side(env, t);
        spaces_.observe(sim, t, navigator_,
                        {own + at * rows * kOwnColumns, mates + at * rows * kMateColumns,
                         enemies + at * rows * kEnemyColumns, globals + at * kGlobalColumns});
    }
}

void SimBatch::show(int env) {
    Sim& sim = *at(env).sim;
    write(sim, env, arrays_.own, arrays_.mates, arrays_.enemies, arrays_.globals);
    arrays_.ticks[env] = sim.state().tick;
}

void SimBatch::keep_final(int env) {
    if (arrays_.final_own == nullptr) return;
    write(*at(env).sim, env, arrays_.final_own, arrays_.final_mates, arrays_.final_enemies,
          arrays_.final_globals);
}

std::string SimBatch::observe(int env, int team) {
    std::string out;
    at(env).sim->observe(team, true, 0, out);
    return out;
}

}  // namespace sysone::arena
