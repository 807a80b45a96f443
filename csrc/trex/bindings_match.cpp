#include <pybind11/numpy.h>

#include <cmath>

#include "trex/bindings.h"
#include "trex/match.h"

namespace sysone::trex::python {
namespace {

using Milliseconds = py::array_t<double, py::array::c_style | py::array::forcecast>;

std::vector<double> checked_ms(const char* field, const Milliseconds& values) {
    if (values.ndim() != 1) {
        throw py::value_error(std::string(field) + " must have one dimension, not " +
                              std::to_string(values.ndim()));
    }
    std::vector<double> ms(values.data(), values.data() + values.size());
    for (const double value : ms) {
        if (!std::isfinite(value) || value < 0) {
            throw py::value_error(std::string(field) + " must be finite and not negative, got " +
                                  std::string(py::repr(py::float_(value))));
        }
    }
    return ms;
}

MatchResult play(std::int64_t seed, const std::string& policy, const Milliseconds& latencies_ms,
                 const Milliseconds& warm_ms, int frames, int inflight, bool guarded,
                 const std::string& course, std::optional<int> lockstep, bool checked_premise) {
    check_at_least("frames", frames, 0);
    check_at_least("inflight", inflight, 1);
    if (lockstep) check_at_least("lockstep", *lockstep, 1);
    MatchOptions options;
    options.style = parse_style(course);
    options.policy = parse_policy(policy);
    options.frames = frames;
    options.inflight = inflight;
    options.guarded = guarded;
    options.lockstep = lockstep;
    options.checked_premise = checked_premise;
    const std::vector<double> latencies = checked_ms("latencies_ms", latencies_ms);
    const std::vector<double> warm = checked_ms("warm_ms", warm_ms);
    const py::gil_scoped_release released;
    return play_match(seed, options, latencies, warm);
}

template <auto Member>
int count(const MatchResult& result) {
    return result.counts.*Member;
}

}  // namespace

void register_match(py::module_& m) {
    py::class_<MatchResult>(m, "Match", "A match that was played on the simulated clock.")
        .def_readonly("game", &MatchResult::game)
        .def_readonly("frames", &MatchResult::frames)
        .def_readonly("finished_scores", &MatchResult::finished_scores)
        .def_property_readonly("decisions", &count<&MatchCounts::decisions>)
        .def_property_readonly("agreed", &count<&MatchCounts::agreed>)
        .def_property_readonly("best_effort", &count<&MatchCounts::best_effort>)
        .def_property_readonly("discarded", &count<&MatchCounts::discarded>)
        .def_property_readonly("shield_interventions", &count<&MatchCounts::shield_interventions>)
        .def_property_readonly("arrival_saves", &count<&MatchCounts::arrival_saves>)
        .def_property_readonly("emergency_saves", &count<&MatchCounts::emergency_saves>);
    m.def("play_match", &play, py::arg("seed"), py::arg("policy"), py::arg("latencies_ms"),
          py::arg("warm_ms"), py::kw_only(), py::arg("frames") = 3600, py::arg("inflight") = 1,
          py::arg("guarded") = true, py::arg("course") = "original",
          py::arg("lockstep") = py::none(), py::arg("checked_premise") = false,
          "A match of a policy whose answers come late, on the simulated clock.");
}

}  // namespace sysone::trex::python
