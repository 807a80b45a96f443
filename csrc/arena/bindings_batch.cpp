#include <pybind11/numpy.h>

#include <mutex>

#include "arena/bindings.h"
#include "arena/fast/batch.h"

namespace sysone::arena::python {
namespace {

namespace py = pybind11;

template <typename Item>
using Array = py::array_t<Item, py::array::c_style>;

// The data of an array that is to be written or read at every step: it must be the very one.
template <typename Item>
Item* data_of(const py::dict& arrays, const char* name, std::vector<py::ssize_t> shape) {
    if (!arrays.contains(name)) throw py::value_error(std::string("arrays lack ") + name);
    const py::object given = arrays[name];
    if (!Array<Item>::check_(given)) {
        throw py::value_error(std::string(name) + " has another dtype, or is not contiguous");
    }
    auto array = py::reinterpret_borrow<Array<Item>>(given);
    if (std::vector<py::ssize_t>(array.shape(), array.shape() + array.ndim()) != shape) {
        throw py::value_error(std::string(name) + " has another shape");
    }
    return array.mutable_data();
}

BatchArrays arrays_of(const py::dict& arrays, const BatchOptions& options) {
    const py::ssize_t n = options.envs, rows = options.rows;
    BatchArrays out;
    out.own = data_of<float>(arrays, "own", {n, kTeams, rows, kOwnColumns});
    out.mates = data_of<float>(arrays, "mates", {n, kTeams, rows, kMateColumns});
    out.enemies = data_of<float>(arrays, "enemies", {n, kTeams, rows, kEnemyColumns});
    out.globals = data_of<float>(arrays, "globals", {n, kTeams, kGlobalColumns});
    if (options.autoreset == Autoreset::kSameStep) {
        out.final_own = data_of<float>(arrays, "final_own", {n, kTeams, rows, kOwnColumns});
        out.final_mates = data_of<float>(arrays, "final_mates", {n, kTeams, rows, kMateColumns});
        out.final_enemies =
            data_of<float>(arrays, "final_enemies", {n, kTeams, rows, kEnemyColumns});
        out.final_globals = data_of<float>(arrays, "final_globals", {n, kTeams, kGlobalColumns});
    }
    out.move = data_of<float>(arrays, "move", {n, kTeams, rows, 2});
    out.spin = data_of<float>(arrays, "spin", {n, kTeams, rows});
    out.go = data_of<std::int32_t>(arrays, "go", {n, kTeams, rows});
    out.fire = data_of<std::int32_t>(arrays, "fire", {n, kTeams, rows});
    out.aim = data_of<std::int32_t>(arrays, "aim", {n, kTeams, rows});
    out.order = data_of<std::int32_t>(arrays, "order", {n, kTeams, rows});
    out.rewards = data_of<float>(arrays, "rewards", {n, kTeams});
    out.terminated = data_of<std::uint8_t>(arrays, "terminated", {n});
    out.truncated = data_of<std::uint8_t>(arrays, "truncated", {n});
    out.began = data_of<std::uint8_t>(arrays, "began", {n});
    out.winner = data_of<std::int32_t>(arrays, "winner", {n});
    out.ticks = data_of<std::int32_t>(arrays, "ticks", {n});
    out.seeds = data_of<std::uint64_t>(arrays, "seeds", {n});
    return out;
}

Bot bot_named(const std::string& name) {
    constexpr std::array kNames = {"none", "hold", "rush", "random"};
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (name == kNames[i]) return static_cast<Bot>(i);
    }
    throw py::value_error("a bot is none, hold, rush or random, not " + name);
}

Autoreset autoreset_named(const std::string& name) {
    constexpr std::array kNames = {"disabled", "next_step", "same_step"};
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (name == kNames[i]) return static_cast<Autoreset>(i);
    }
    throw py::value_error("autoreset is disabled, next_step or same_step, not " + name);
}

int at_least(int value, int least, const char* name) {
    if (value < least) {
        throw py::value_error(std::string(name) + " must be at least " + std::to_string(least) +
                              ", not " + std::to_string(value));
    }
    return value;
}

using Line = std::vector<std::pair<Word, Word>>;

// The matches, the arrays that they write to, and the lock that keeps callers apart.
struct Batch {
    py::dict arrays;
    std::unique_ptr<SimBatch> sims;
    std::mutex mutex;
};

std::unique_ptr<Batch> make_batch(std::shared_ptr<Rules> rules, const Line& red, const Line& blue,
                                  py::dict arrays, int envs, int threads, int rows,
                                  Word duration_ticks, bool deck, int action_repeat, int max_steps,
                                  bool score, double score_scale, const std::string& autoreset,
                                  bool digests, const std::pair<std::string, std::string>& bots,
                                  const std::pair<bool, bool>& driven,
                                  const std::string& scenario) {
    Lineups lineups;
    lineups.deck = deck;
    for (const auto& [slot, model] : red) lineups.sides[0].push_back({slot, model});
    for (const auto& [slot, model] : blue) lineups.sides[1].push_back({slot, model});
    BatchOptions options;
    options.envs = at_least(envs, 1, "envs");
    options.threads = std::min(at_least(threads, 1, "threads"), envs);
    options.rows = at_least(
        rows, static_cast<int>(std::max({red.size(), blue.size(), std::size_t{1}})), "rows");
    options.duration_ticks = duration_ticks;
    options.action_repeat = at_least(action_repeat, 2, "action_repeat");
    if (action_repeat % 2 != 0) throw py::value_error("action_repeat must be even");
    options.max_steps = at_least(max_steps, 0, "max_steps");
    options.score = score;
    options.score_scale = score_scale;
    options.autoreset = autoreset_named(autoreset);
    options.digests = digests;
    options.bots = {bot_named(bots.first), bot_named(bots.second)};
    options.driven = {driven.first, driven.second};
    options.scenario = scenario;
    const BatchArrays places = arrays_of(arrays, options);
    auto batch = std::make_unique<Batch>();
    batch->arrays = std::move(arrays);
    const py::gil_scoped_release without_gil;
    batch->sims = std::make_unique<SimBatch>(std::move(rules), lineups, std::move(options), places);
    return batch;
}

int env_number(const Batch& batch, int env) {
    if (env < 0 || env >= batch.sims->options().envs) {
        throw py::index_error("there is no environment " + std::to_string(env));
    }
    return env;
}

template <typename Work>
auto released(Batch& batch, Work work) {
    const py::gil_scoped_release without_gil;
    const std::lock_guard lock(batch.mutex);
    return work(*batch.sims);
}

}  // namespace

void register_batch(py::module_& m) {
    m.attr("OWN_COLUMNS") = kOwnColumns;
    m.attr("MATE_COLUMNS") = kMateColumns;
    m.attr("ENEMY_COLUMNS") = kEnemyColumns;
    m.attr("GLOBAL_COLUMNS") = kGlobalColumns;
    m.attr("ORDERS") = static_cast<int>(kOrders);
    py::class_<Batch>(m, "SimBatch", "Many matches on threads, over arrays of the caller.")
        .def(py::init(&make_batch), py::arg("rules"), py::arg("red"), py::arg("blue"),
             py::arg("arrays"), py::kw_only(), py::arg("envs"), py::arg("threads"), py::arg("rows"),
             py::arg("duration_ticks"), py::arg("deck"), py::arg("action_repeat"),
             py::arg("max_steps"), py::arg("score"), py::arg("score_scale"), py::arg("autoreset"),
             py::arg("digests"), py::arg("bots"), py::arg("driven"), py::arg("scenario"))
        .def(
            "reset",
            [](Batch& batch, const std::vector<int>& envs) {
                for (const int env : envs) env_number(batch, env);
                released(batch, [&](SimBatch& sims) { return sims.reset(envs), 0; });
            },
            py::arg("envs"), "Begin episodes with the seeds in their array.")
        .def(
            "step",
            [](Batch& batch) { released(batch, [](SimBatch& sims) { return sims.step(), 0; }); },
            "Advance every environment that is not over.")
        .def(
            "digests",
            [](Batch& batch, int env, bool last) {
                env_number(batch, env);
                const std::lock_guard lock(batch.mutex);
                const auto& words = last ? batch.sims->last_digests(env) : batch.sims->digests(env);
                return py::bytes(reinterpret_cast<const char*>(words.data()),
                                 words.size() * sizeof(std::uint64_t));
            },
            py::arg("env"), py::arg("last") = false,
            "The tick digests of an environment's episode, or of the one before it: uint64.")
        .def(
            "observe",
            [](Batch& batch, int env, int team) {
                env_number(batch, env);
                if (team != 0 && team != 1) throw py::value_error("team must be 0 or 1");
                return py::bytes(
                    released(batch, [&](SimBatch& sims) { return sims.observe(env, team); }));
            },
            py::arg("env"), py::arg("team"), "The observation's JSON.")
        .def(
            "can",
            [](Batch& batch, int team, int row, int order) {
                if (team < 0 || team > 1 || row < 0 || row >= batch.sims->options().rows ||
                    order < 0 || order >= kOrders) {
                    throw py::index_error("there is no such team, row or order");
                }
                return batch.sims->spaces().can(team, row, static_cast<Order>(order));
            },
            py::arg("team"), py::arg("row"), py::arg("order"),
            "Whether a row's robot is of a kind that can do this.");
}

}  // namespace sysone::arena::python
