#include <cmath>
#include <memory>
#include <variant>

#include "trex/bindings.h"
#include "trex/planner.h"
#include "trex/search.h"
#include "trex/shield.h"
#include "trex/snapshot.h"
#include "trex/world.h"

namespace sysone::trex::python {
namespace {

constexpr int kMaxHorizon = 4 * static_cast<int>(kMaxTimingFrames);

void check_range(const char* field, double value, double low, double high) {
    if (!(value >= low && value <= high)) {
        py::object shown = py::float_(value);
        throw py::value_error(std::string(field) + " must be within " +
                              std::to_string(static_cast<int>(low)) + " and " +
                              std::to_string(static_cast<int>(high)) + ", not " +
                              py::cast<std::string>(py::str(shown)));
    }
}

TrexState make_state(int y, double velocity, bool jumping, bool ducking, bool speed_drop,
                     bool reached, Pose pose) {
    check_range("y", y, -1000, 1000);
    check_range("velocity", velocity, -100, 100);
    return {velocity + 0.0, y, jumping, ducking, speed_drop, reached, pose};
}

py::tuple state_tuple(const TrexState& s) {
    return py::make_tuple(s.y, s.velocity, s.jumping, s.ducking, s.speed_drop, s.reached, s.pose);
}

ObstacleView make_view(std::int64_t id, std::string label, bool bird, int x, int y, int width,
                       int height, double offset, const std::vector<BoxTuple>& boxes) {
    check_range("obstacle x", x, -100000, 100000);
    check_range("obstacle y", y, -10000, 10000);
    check_range("obstacle width", width, 0, 10000);
    check_range("obstacle height", height, 0, 10000);
    check_range("obstacle offset", offset, -100, 100);
    ObstacleView view{id, std::move(label), bird, x, y, width, height, offset, {}};
    if (boxes.size() > BoxList::kCapacity) {
        throw py::value_error("boxes must be at most 8, not " + std::to_string(boxes.size()));
    }
    for (const auto& [left, top, box_width, box_height] : boxes) {
        view.boxes.push_back({left, top, box_width, box_height});
    }
    return view;
}

py::tuple view_tuple(const ObstacleView& o) {
    return py::make_tuple(o.id, o.label, o.bird, o.x, o.y, o.width, o.height, o.offset,
                          box_tuples(o.boxes));
}

Snapshot make_snapshot(TrexState trex, int trex_x, double speed,
                       std::vector<ObstacleView> obstacles, Held held, bool playing,
                       std::optional<Action> pending) {
    check_range("speed", speed, 0, 1000);
    check_range("trex_x", trex_x, -10000, 10000);
    return {trex, trex_x, speed, std::move(obstacles), held, playing, pending};
}

py::tuple snapshot_tuple(const Snapshot& s) {
    return py::make_tuple(s.trex, s.trex_x, s.speed, s.obstacles, s.held, s.playing, s.pending);
}

template <typename T>
std::string repr_of(const char* name, const py::tuple& fields) {
    return name + py::cast<std::string>(py::repr(fields));
}

template <typename T>
bool equals(const T& a, const py::object& b) {
    return py::isinstance<T>(b) && a == py::cast<const T&>(b);
}

template <typename T>
py::dict by_action(const PerAction<T>& values) {
    py::dict dict;
    for (const Action action : kAllActions) {
        dict[py::cast(action)] = py::cast(values[index(action)]);
    }
    return dict;
}

std::vector<Action> safe_actions(const Plan& plan) {
    std::vector<Action> actions;
    for (const Action action : kAllActions) {
        if (plan.safe[index(action)]) actions.push_back(action);
    }
    return actions;
}

// A world that owns its snapshot.
struct OwnedWorld {
    OwnedWorld(const Snapshot& moment, int horizon)
        : snap(std::make_unique<const Snapshot>(moment)), world(*snap, horizon) {}
    std::unique_ptr<const Snapshot> snap;
    World world;
};

std::size_t checked_frame(const World& world, int k) {
    if (k < 1 || k > world.horizon()) {
        throw py::index_error("frame must be within 1 and " + std::to_string(world.horizon()) +
                              ", not " + std::to_string(k));
    }
    return static_cast<std::size_t>(k);
}

// A search over dinosaur states instead of numbered ones.
class StateSearch {
  public:
    StateSearch(std::shared_ptr<const OwnedWorld> world, std::pair<int, int> gap, int horizon,
                std::optional<int> period)
        : world_(std::move(world)),
          search_(world_->world, motions_, {gap.first, gap.second}, horizon, period) {
        check_range("gap", gap.first, 0, kMaxTimingFrames);
        check_range("gap", gap.second, 0, kMaxTimingFrames);
        check_range("horizon", horizon, 0, kMaxHorizon);
        if (period) check_range("period", *period, 1, kMaxTimingFrames);
    }

    std::optional<TrexState> run_frames(const TrexState& state, Held held, int start, int count) {
        check_range("start", start, 0, kMaxHorizon);
        check_range("count", count, 0, kMaxHorizon);
        const auto node = search_.run_frames(motions_.intern(state), held, start, count);
        if (node == MotionGraph::kDead) return std::nullopt;
        return motions_.state(node);
    }

    TrexState press(const TrexState& state, Action action, int frame) {
        check_range("frame", frame, 0, kMaxHorizon);
        return motions_.state(search_.press(motions_.intern(state), action, frame));
    }

    bool lands(const TrexState& state, Held held, Action action, int t, int lo, int hi,
               std::optional<std::pair<Action, int>> lock) {
        check_range("t", t, 0, kMaxHorizon);
        check_range("lo", lo, 0, kMaxTimingFrames);
        check_range("hi", hi, 0, kMaxTimingFrames);
        Lock held_to;
        if (lock) {
            if (lock->first == Action::kRun) {
                throw py::value_error("lock must name 'duck' or 'jump', not 'run'");
            }
            check_range("lock", lock->second, 0, kMaxHorizon);
            held_to = Lock(lock->first, lock->second);
        }
        return search_.lands(motions_.intern(state), held, action, t, {lo, hi}, held_to);
    }

    std::size_t states() const { return search_.states(); }

  private:
    std::shared_ptr<const OwnedWorld> world_;
    MotionGraph motions_;
    Search search_;
};

struct StaggeredStateSearch : StateSearch {
    using StateSearch::StateSearch;
};

void register_values(py::module_& m) {
    py::class_<TrexState>(m, "TrexState", "The dinosaur as the planner sees it.")
        .def(py::init(&make_state), py::arg("y") = kGroundY, py::arg("velocity") = 0.0,
             py::arg("jumping") = false, py::arg("ducking") = false, py::arg("speed_drop") = false,
             py::arg("reached_min_height") = false, py::arg("status") = Pose::kRun)
        .def_readonly("y", &TrexState::y)
        .def_readonly("velocity", &TrexState::velocity)
        .def_readonly("jumping", &TrexState::jumping)
        .def_readonly("ducking", &TrexState::ducking)
        .def_readonly("speed_drop", &TrexState::speed_drop)
        .def_readonly("reached_min_height", &TrexState::reached)
        .def_readonly("status", &TrexState::pose)
        .def("astuple", &state_tuple)
        .def("__eq__", &equals<TrexState>)
        .def("__hash__", [](const TrexState& s) { return py::hash(state_tuple(s)); })
        .def("__repr__",
             [](const TrexState& s) { return repr_of<TrexState>("TrexState", state_tuple(s)); })
        .def(py::pickle(&state_tuple, [](const py::tuple& t) {
            return make_state(t[0].cast<int>(), t[1].cast<double>(), t[2].cast<bool>(),
                              t[3].cast<bool>(), t[4].cast<bool>(), t[5].cast<bool>(),
                              t[6].cast<Pose>());
        }));

    py::class_<ObstacleView>(m, "ObstacleView", "One obstacle of a snapshot.")
        .def(py::init(&make_view), py::arg("id"), py::arg("label"), py::arg("bird"), py::arg("x"),
             py::arg("y"), py::arg("width"), py::arg("height"), py::arg("offset"), py::arg("boxes"))
        .def_readonly("id", &ObstacleView::id)
        .def_readonly("label", &ObstacleView::label)
        .def_readonly("bird", &ObstacleView::bird)
        .def_readonly("x", &ObstacleView::x)
        .def_readonly("y", &ObstacleView::y)
        .def_readonly("width", &ObstacleView::width)
        .def_readonly("height", &ObstacleView::height)
        .def_readonly("offset", &ObstacleView::offset)
        .def_property_readonly("boxes", [](const ObstacleView& o) { return box_tuples(o.boxes); })
        .def("__eq__", &equals<ObstacleView>)
        .def("__repr__",
             [](const ObstacleView& o) {
                 return repr_of<ObstacleView>("ObstacleView", view_tuple(o));
             })
        .def(py::pickle(&view_tuple, [](const py::tuple& t) {
            return make_view(t[0].cast<std::int64_t>(), t[1].cast<std::string>(), t[2].cast<bool>(),
                             t[3].cast<int>(), t[4].cast<int>(), t[5].cast<int>(), t[6].cast<int>(),
                             t[7].cast<double>(), t[8].cast<std::vector<BoxTuple>>());
        }));

    py::class_<Snapshot>(m, "Snapshot", "One moment of a game (immutable).")
        .def(py::init(&make_snapshot), py::arg("trex"), py::arg("trex_x"), py::arg("speed"),
             py::arg("obstacles"), py::arg("held") = Held::kRun, py::arg("playing") = true,
             py::arg("pending") = std::optional<Action>{})
        .def_readonly("trex", &Snapshot::trex)
        .def_readonly("trex_x", &Snapshot::trex_x)
        .def_readonly("speed", &Snapshot::speed)
        .def_readonly("obstacles", &Snapshot::obstacles)
        .def_readonly("held", &Snapshot::held)
        .def_readonly("playing", &Snapshot::playing)
        .def_readonly("pending", &Snapshot::pending)
        .def(
            "with_pending",
            [](Snapshot snap, std::optional<Action> pending) {
                snap.pending = pending;
                return snap;
            },
            py::arg("pending"), "The same moment with another pending answer.")
        .def("__eq__", &equals<Snapshot>)
        .def("__repr__",
             [](const Snapshot& s) { return repr_of<Snapshot>("Snapshot", snapshot_tuple(s)); })
        .def(py::pickle(&snapshot_tuple, [](const py::tuple& t) {
            return make_snapshot(t[0].cast<TrexState>(), t[1].cast<int>(), t[2].cast<double>(),
                                 t[3].cast<std::vector<ObstacleView>>(), t[4].cast<Held>(),
                                 t[5].cast<bool>(), t[6].cast<std::optional<Action>>());
        }));
    m.def("snapshot", &snapshot, py::arg("game"), py::arg("held") = Held::kRun,
          py::arg("pending") = std::optional<Action>{},
          "The obstacles on screen and the dinosaur, at this moment.");
}

void register_motion(py::module_& m) {
    m.def("enforce", &enforce, py::arg("state"), py::arg("held"), "The held key's effect.");
    m.def("impulse_jump", &impulse_jump, py::arg("state"), py::arg("speed"), "A tap of jump.");
    m.def("trex_frame", &fall, py::arg("state"), "One frame of jump physics.");
    m.def("end_of_frame", &settle, py::arg("state"), "A drop that touches the ground line.");
    m.def(
        "check_collision",
        [](int trex_x, int trex_y, bool ducking,
           const std::variant<const Obstacle*, const ObstacleView*>& obstacle) {
            return std::visit(
                [&](const auto* o) {
                    if constexpr (std::is_same_v<decltype(o), const Obstacle*>) {
                        return collides(trex_x, trex_y, ducking,
                                        {o->x, o->y, o->width, o->height(), o->boxes});
                    } else {
                        return collides(trex_x, trex_y, ducking, o->at(o->x));
                    }
                },
                obstacle);
        },
        py::arg("trex_x"), py::arg("trex_y"), py::arg("ducking"), py::arg("obstacle"),
        "Outer boxes first, then every pair of inner ones.");
}

void register_searches(py::module_& m) {
    py::class_<OwnedWorld, std::shared_ptr<OwnedWorld>>(m, "World",
                                                        "Look-ahead tables for some frames.")
        .def(py::init([](const Snapshot& snap, int horizon) {
                 check_range("horizon", horizon, 0, kMaxHorizon);
                 const py::gil_scoped_release released;
                 return std::make_shared<OwnedWorld>(snap, horizon);
             }),
             py::arg("snap"), py::arg("horizon"))
        .def_property_readonly("horizon", [](const OwnedWorld& w) { return w.world.horizon(); })
        .def_property_readonly("birds", [](const OwnedWorld& w) { return w.world.birds(); })
        .def_property_readonly("passed",
                               [](const OwnedWorld& w) {
                                   py::dict frames;
                                   for (std::size_t i = 0; i < w.snap->obstacles.size(); ++i) {
                                       const int frame = w.world.passed(i);
                                       if (frame > 0) {
                                           frames[py::int_(w.snap->obstacles[i].id)] = frame;
                                       }
                                   }
                                   return frames;
                               })
        .def(
            "speed",
            [](const OwnedWorld& w, int k) {
                return w.world.speed(static_cast<int>(checked_frame(w.world, k)));
            },
            py::arg("frame"))
        .def(
            "first",
            [](const OwnedWorld& w, int k) -> std::optional<std::pair<std::int64_t, int>> {
                const auto front = w.world.front(static_cast<int>(checked_frame(w.world, k)));
                if (front.obstacle < 0) return std::nullopt;
                const auto i = static_cast<std::size_t>(front.obstacle);
                return std::pair(w.snap->obstacles[i].id, front.x);
            },
            py::arg("frame"))
        .def(
            "hit",
            [](const OwnedWorld& w, int k, int y, bool ducking) {
                return k >= 1 && w.world.hit(k, y, ducking);
            },
            py::arg("frame"), py::arg("y"), py::arg("ducking"));

    using Gap = std::pair<int, int>;
    using WorldPointer = std::shared_ptr<const OwnedWorld>;
    py::class_<StateSearch>(m, "Search", "Safety with one request in flight.")
        .def(py::init([](const WorldPointer& world, Gap gap, int horizon) {
                 return std::make_unique<StateSearch>(world, gap, horizon, std::nullopt);
             }),
             py::arg("world"), py::arg("gap"), py::arg("horizon"))
        .def("run_frames", &StateSearch::run_frames, py::arg("state"), py::arg("action"),
             py::arg("start"), py::arg("count"))
        .def("press", &StateSearch::press, py::arg("state"), py::arg("action"), py::arg("frame"))
        .def("lands", &StateSearch::lands, py::arg("state"), py::arg("held"), py::arg("action"),
             py::arg("t"), py::arg("lo"), py::arg("hi"),
             py::arg("lock") = std::optional<std::pair<Action, int>>{})
        .def_property_readonly("states", &StateSearch::states);
    py::class_<StaggeredStateSearch, StateSearch>(m, "StaggeredSearch",
                                                  "Safety with several requests in flight.")
        .def(py::init([](const WorldPointer& world, Gap gap, int horizon, int period) {
                 return std::make_unique<StaggeredStateSearch>(world, gap, horizon, period);
             }),
             py::arg("world"), py::arg("gap"), py::arg("horizon"), py::arg("period"));
}

}  // namespace

void register_planning(py::module_& m) {
    register_values(m);
    register_motion(m);
    register_searches(m);

    py::class_<Plan>(m, "Plan", "What the planner proved for one landing window.")
        .def_property_readonly("safe", [](const Plan& p) { return by_action(p.safe); })
        .def_readonly("best", &Plan::best)
        .def_readonly("airborne", &Plan::airborne)
        .def_readonly("threat", &Plan::threat)
        .def_readonly("ahead", &Plan::ahead)
        .def_readonly("distance", &Plan::distance_px)
        .def_readonly("eta_ms", &Plan::eta_ms)
        .def_property_readonly("notes", [](const Plan& p) { return by_action(p.notes); })
        .def_readonly("states", &Plan::states)
        .def_readonly("robust", &Plan::robust)
        .def_property_readonly(
            "subjects", [](const Plan& p) { return py::make_tuple(p.threat_id, p.ahead_id); })
        .def_property_readonly("safe_actions", &safe_actions)
        .def("__eq__", &equals<Plan>);

    py::class_<Planner>(m, "Planner", "Proves which keys are safe when a late answer lands.")
        .def(py::init([](int max_horizon) {
                 check_range("max_horizon", max_horizon, 1, kMaxTimingFrames);
                 return Planner(max_horizon);
             }),
             py::arg("max_horizon") = Planner::kDefaultMaxHorizon)
        .def_property_readonly("max_horizon", &Planner::max_horizon)
        .def("horizon", &Planner::horizon, py::arg("snap"))
        .def(
            "plan",
            [](const Planner& planner, const Snapshot& snap, std::array<double, 2> first,
               std::array<double, 2> gap,
               std::optional<double> period) { return planner.plan(snap, {first, gap, period}); },
            py::arg("snap"), py::arg("first"), py::arg("gap"),
            py::arg("period") = std::optional<double>{}, py::call_guard<py::gil_scoped_release>());

    m.def(
        "protect",
        [](const Snapshot& snap, Action action, int urgent, int horizon) {
            check_range("urgent", urgent, 0, kMaxTimingFrames);
            check_range("horizon", horizon, 0, kMaxHorizon);
            const py::gil_scoped_release released;
            return protect(snap, action, urgent, horizon);
        },
        py::arg("snap"), py::arg("action"), py::arg("urgent") = kUrgentFrames,
        py::arg("horizon") = kShieldHorizon, "The live shield.");
}

}  // namespace sysone::trex::python
