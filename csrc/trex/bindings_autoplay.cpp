#include <pybind11/numpy.h>

#include <cmath>
#include <limits>

#include "trex/autoplay.h"
#include "trex/bindings.h"

namespace sysone::trex::python {
namespace {

constexpr py::ssize_t kObstacleColumns = 6;
constexpr py::ssize_t kTrexColumns = 7;

// One array, filled row by row.
template <typename T>
class Column {
  public:
    explicit Column(std::vector<py::ssize_t> shape)
        : array_(shape), at_(static_cast<T*>(array_.mutable_data())) {}
    template <typename V>
    void add(V value) {
        *at_++ = static_cast<T>(value);
    }
    const py::array_t<T>& array() const { return array_; }

  private:
    py::array_t<T> array_;
    T* at_;
};

py::dict games_table(const std::vector<AutoplayGame>& games) {
    const auto n = static_cast<py::ssize_t>(games.size());
    Column<std::int64_t> seed({n});
    Column<std::int32_t> deaths({n});
    Column<std::int32_t> best_score({n});
    Column<std::int32_t> shield_interventions({n});
    for (const AutoplayGame& game : games) {
        seed.add(game.seed);
        deaths.add(game.deaths);
        best_score.add(game.best_score);
        shield_interventions.add(game.shield_interventions);
    }
    py::dict table;
    table["seed"] = seed.array();
    table["deaths"] = deaths.array();
    table["best_score"] = best_score.array();
    table["shield_interventions"] = shield_interventions.array();
    return table;
}

py::dict decisions_table(const std::vector<AutoplayGame>& games) {
    py::ssize_t n = 0;
    for (const AutoplayGame& game : games) n += static_cast<py::ssize_t>(game.decisions.size());
    Column<std::int32_t> number({n});
    Column<std::int32_t> frame({n});
    Column<std::int32_t> run({n});
    Column<double> speed({n});
    Column<double> trex({n, kTrexColumns});
    Column<double> obstacles({n, static_cast<py::ssize_t>(kKeptObstacles), kObstacleColumns});
    Column<bool> safe({n, kActions});
    Column<std::int8_t> best({n});
    Column<std::int8_t> action({n});
    Column<std::int8_t> executed({n});
    Column<bool> robust({n});
    Column<bool> airborne({n});
    Column<double> distance_px({n});
    Column<double> eta_ms({n});
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < games.size(); ++i) {
        for (const AutoplayDecision& d : games[i].decisions) {
            number.add(i);
            frame.add(d.frame);
            run.add(d.run);
            speed.add(d.speed);
            trex.add(d.trex_x);
            trex.add(d.trex.y);
            trex.add(d.trex.velocity);
            trex.add(d.trex.jumping);
            trex.add(d.trex.ducking);
            trex.add(d.trex.speed_drop);
            trex.add(d.trex.reached);
            for (const KeptObstacle& o : d.obstacles) {
                obstacles.add(o.x);
                obstacles.add(o.y);
                obstacles.add(o.width);
                obstacles.add(o.height);
                obstacles.add(o.speed_offset);
                obstacles.add(o.kind);
            }
            for (const bool is_safe : d.safe) safe.add(is_safe);
            best.add(d.best);
            action.add(d.action);
            executed.add(d.executed);
            robust.add(d.robust);
            airborne.add(d.airborne);
            distance_px.add(d.distance_px ? *d.distance_px : kNone);
            eta_ms.add(d.eta_ms.value_or(kNone));
        }
    }
    py::dict table;
    table["game"] = number.array();
    table["frame"] = frame.array();
    table["run"] = run.array();
    table["speed"] = speed.array();
    table["trex"] = trex.array();
    table["obstacles"] = obstacles.array();
    table["safe"] = safe.array();
    table["best"] = best.array();
    table["action"] = action.array();
    table["executed"] = executed.array();
    table["robust"] = robust.array();
    table["airborne"] = airborne.array();
    table["distance_px"] = distance_px.array();
    table["eta_ms"] = eta_ms.array();
    return table;
}

py::object plans(std::vector<AutoplayGame>& games) {
    py::list list;
    for (AutoplayGame& game : games) {
        for (Plan& plan : game.plans) list.append(py::cast(std::move(plan)));
    }
    return list;
}

py::tuple play_batch(const std::vector<std::int64_t>& seeds, const std::string& policy, int threads,
                     int frames, int frames_per_decision, const std::string& course, bool shield,
                     bool with_plans) {
    check_at_least("threads", threads, 1);
    check_at_least("frames", frames, 1);
    check_at_least("frames_per_decision", frames_per_decision, 1);
    AutoplayOptions options;
    options.style = parse_style(course);
    options.policy = parse_policy(policy);
    options.frames = frames;
    options.frames_per_decision = frames_per_decision;
    options.shield = shield;
    options.plans = with_plans;
    std::vector<AutoplayGame> games;
    {
        const py::gil_scoped_release released;
        games = autoplay_all(seeds, options, threads);
    }
    const py::dict decisions = decisions_table(games);
    return py::make_tuple(games_table(games), decisions,
                          with_plans ? plans(games) : py::object(py::none()));
}

}  // namespace

void register_autoplay(py::module_& m) {
    m.def("play_batch", &play_batch, py::arg("seeds"), py::arg("policy"), py::arg("threads"),
          py::arg("frames"), py::arg("frames_per_decision"), py::arg("course"), py::arg("shield"),
          py::arg("plans"), "Columns of games and decisions, and the plans if asked for.");
}

}  // namespace sysone::trex::python
