#include <mutex>

#include "arena/bindings.h"
#include "arena/core/flow.h"
#include "arena/core/sim.h"

namespace sysone::arena::python {
namespace {

namespace py = pybind11;

template <typename Item>
py::bytes packed(const std::vector<Item>& items) {
    return {reinterpret_cast<const char*>(items.data()), items.size() * sizeof(Item)};
}

// A match and the lock that keeps threads apart while the GIL is released.
struct Match {
    Match(std::shared_ptr<const Rules> rules, Lineups lineups, std::uint64_t seed, Word ticks)
        : sim(std::move(rules), std::move(lineups), seed, ticks) {}
    Sim sim;
    std::mutex mutex;
};

template <typename Work>
auto released(Match& match, Work work) {
    const py::gil_scoped_release without_gil;
    const std::lock_guard lock(match.mutex);
    return work(match.sim);
}

using Side = std::vector<std::pair<Word, Word>>;

std::unique_ptr<Match> make_match(std::shared_ptr<Rules> rules, const Side& red, const Side& blue,
                                  std::uint64_t seed, Word duration_ticks, bool deck) {
    Lineups lineups;
    lineups.deck = deck;
    for (const auto& [slot, model] : red) lineups.sides[0].push_back({slot, model});
    for (const auto& [slot, model] : blue) lineups.sides[1].push_back({slot, model});
    return std::make_unique<Match>(std::move(rules), std::move(lineups), seed, duration_ticks);
}

int team_number(int team) {
    if (team != 0 && team != 1) {
        throw py::value_error("team must be 0 (red) or 1 (blue), not " + std::to_string(team));
    }
    return team;
}

int slot_number(int slot) {
    if (slot < 0 || slot >= kSlots) {
        throw py::value_error("slot must be 0 to 7, not " + std::to_string(slot));
    }
    return slot;
}

const Model& model_of(const Rules& rules, Word number) {
    const Model* model = rules.model(number);
    if (model == nullptr) {
        throw py::value_error("no model of season " + rules.season() + " is numbered " +
                              std::to_string(number));
    }
    return *model;
}

py::object reset(Match& match, std::uint64_t seed, const std::string& scenario) {
    const auto error = released(match, [&](Sim& sim) { return sim.reset(seed, scenario); });
    if (!error) return py::none();
    return py::make_tuple(error->code, error->path, error->message);
}

py::object act(Match& match, int team, std::string_view text, int slot) {
    team_number(team);
    slot_number(slot);
    const auto error = released(match, [&](Sim& sim) { return sim.act(team, text, slot); });
    if (!error) return py::none();
    return py::make_tuple(error->code, error->path);
}

int advance(Match& match, int ticks) {
    if (ticks < 0 || ticks % 2 != 0) {
        throw py::value_error("ticks must be an even number of at least 0, not " +
                              std::to_string(ticks));
    }
    return released(match, [&](Sim& sim) { return sim.advance(ticks); });
}

py::bytes observe(Match& match, int team, int slot) {
    team_number(team);
    slot_number(slot);
    const std::string text = released(match, [&](Sim& sim) {
        std::string out;
        out.reserve(16384);
        sim.observe(team, true, slot, out);
        return out;
    });
    return text;
}

std::string events(Match& match) {
    return released(match, [](Sim& sim) {
        std::string out = "[";
        for (const Event& event : sim.events()) {
            if (out.size() > 1) out += ',';
            append_event(out, event);
        }
        return out + ']';
    });
}

// x, y, z in mm, heading and gimbal in 1/2^20 turn, hp, heat, ammunition, flags; see the replay.
std::vector<Word> frame(Match& match) {
    return released(match, [](Sim& sim) {
        std::vector<Word> words;
        for (const RobotState& r : sim.state().robots) {
            const Word flags = (r.alive != 0 ? 1 : 0) | (r.weak != 0 ? 2 : 0) |
                               (sim.state().tick < r.invulnerable_end ? 4 : 0) |
                               (r.lock != 0 ? 8 : 0) | (r.carrying != 0 ? 16 : 0) |
                               (r.supporting != 0 ? 32 : 0) | (r.deploy != 0 ? 64 : 0);
            for (const Word word : {r.x / 1000, r.y / 1000, r.z, r.yaw, r.gimbal_yaw, r.hp, r.heat,
                                    r.ammo_17 + r.ammo_42 + r.reserve, flags}) {
                words.push_back(word);
            }
        }
        for (const TeamState& team : sim.state().teams) {
            for (const Word word : {team.base_hp, team.base_shield, team.outpost_hp,
                                    team.outpost_angle, team.base_open, team.coins,
                                    team.attack_damage, team.tech_level, team.rune_buff}) {
                words.push_back(word);
            }
        }
        return words;
    });
}

template <typename Read>
auto reading(Read read) {
    return [read](Match& match) { return released(match, [&](Sim& sim) { return read(sim); }); };
}

void register_rules(py::module_& m) {
    py::class_<Rules, std::shared_ptr<Rules>>(m, "Rules", "Settings, models and field of a season.")
        .def(py::init([](const std::string& json) {
                 const py::gil_scoped_release without_gil;
                 return std::make_shared<Rules>(json);
             }),
             py::arg("json"))
        .def_property_readonly("season", &Rules::season)
        .def_property_readonly("size",
                               [](const Rules& rules) {
                                   return py::make_tuple(rules.field().columns(),
                                                         rules.field().rows());
                               })
        .def(
            "ground", [](const Rules& r) { return packed(r.field().ground_raster()); },
            "Ground height of each cell: int16, mm.")
        .def(
            "top", [](const Rules& r) { return packed(r.field().top_raster()); },
            "Height of ground and solids of each cell: int16, mm.")
        .def(
            "gates", [](const Rules& r) { return packed(r.field().gate_raster()); },
            "Gate of each cell: uint8, 0 for none.")
        .def(
            "rough", [](const Rules& r) { return packed(r.field().rough_raster()); },
            "Speed of each cell: uint8, percent.")
        .def(
            "zones",
            [](const Rules& r) {
                std::vector<Word> zones;
                const int n = r.field().columns() * r.field().rows();
                for (int i = 0; i < n; ++i) zones.push_back(r.field().zones(i));
                return packed(zones);
            },
            "Zone bits of each cell: int32.")
        .def(
            "blocked",
            [](const Rules& r, Word model) {
                const Model& kind = model_of(r, model);
                if (kind.flyer) throw py::value_error("a flyer is blocked by the border alone");
                return packed(r.field().blocked_raster(kind.blocked));
            },
            py::arg("model"), "Whether each cell is blocked for a model's body: uint8.")
        .def(
            "flow",
            [](const Rules& r, Word model, Word x_mm, Word y_mm) {
                const Model& kind = model_of(r, model);
                std::vector<std::uint16_t> cost;
                {
                    const py::gil_scoped_release without_gil;
                    cost = flow_field(r, kind, x_mm * 1000, y_mm * 1000);
                }
                return packed(cost);
            },
            py::arg("model"), py::arg("x_mm"), py::arg("y_mm"),
            "Cost of the way from each cell to a goal: uint16, 5 a side, 65535 unreachable.");
}

}  // namespace

void register_match(py::module_& m) {
    register_rules(m);
    m.def(
        "state_fields",
        [] {
            py::list rows;
            for (const FieldText& field : state_fields()) {
                rows.append(py::make_tuple(field.group, field.name, field.count, field.text));
            }
            return rows;
        },
        "Group, name, number of words and meaning of every word of the state, in order.");
    py::class_<Match>(m, "Simulator", "One match.")
        .def(py::init(&make_match), py::arg("rules"), py::arg("red"), py::arg("blue"),
             py::arg("seed"), py::arg("duration_ticks"), py::arg("deck") = false)
        .def("reset", &reset, py::arg("seed"), py::arg("scenario") = "",
             "Start anew; None, or code, path and message of what is wrong with the scenario.")
        .def("act", &act, py::arg("team"), py::arg("text"), py::arg("slot") = 0,
             "Give the next decision's action; None, or code and path of its error.")
        .def(
            "drop_actions",
            [](Match& match) { released(match, [](Sim& sim) { return sim.drop_actions(), 0; }); },
            "Forget the actions given for the next decision.")
        .def(
            "score",
            [](Match& match) {
                const auto& teams = match.sim.state().teams;
                return py::make_tuple(teams[0].attack_damage, teams[1].attack_damage);
            },
            "The attack damage of red and blue.")
        .def("advance", &advance, py::arg("ticks"), "Run; returns the ticks done.")
        .def("observe", &observe, py::arg("team"), py::arg("slot") = 0, "The observation's JSON.")
        .def("events_json", &events, "The events of the last advance.")
        .def(
            "frame", [](Match& match) { return packed(frame(match)); },
            "The replay's keyframe: int32 words.")
        .def(
            "shots", [](Match& match) { return packed(match.sim.shots()); },
            "The shots that ended in the last advance: int32 [n][8].")
        .def(
            "digests", [](Match& match) { return packed(match.sim.digests()); },
            "The tick digests of the last advance: uint64.")
        .def(
            "canon", [](Match& match) { return py::bytes(match.sim.canon()); },
            "The canonical encoding of the state.")
        .def("state_json", reading([](Sim& sim) { return state_json(sim.state()); }),
             "The full state.")
        .def(
            "seed_hint",
            [](Match& match, int team) { return match.sim.seed_hint(team_number(team)); },
            py::arg("team"))
        .def(
            "record", [](Match& match, bool on) { match.sim.set_recording(on); }, py::arg("on"))
        .def(
            "use_digests", [](Match& match, bool on) { match.sim.set_digests(on); }, py::arg("on"))
        .def_property_readonly("tick_digest", [](Match& m_) { return m_.sim.tick_digest(); })
        .def_property_readonly("tick", [](Match& m_) { return m_.sim.state().tick; })
        .def_property_readonly("ended", [](Match& m_) { return m_.sim.ended(); })
        .def_property_readonly("winner", [](Match& m_) { return m_.sim.state().match.winner; })
        .def_property_readonly("reason", [](Match& m_) {
            return std::string(text_of(static_cast<Name>(m_.sim.state().match.reason)));
        });
}

}  // namespace sysone::arena::python
