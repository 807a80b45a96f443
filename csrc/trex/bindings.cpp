// sysone_core._trex: the table of contents.
#include "trex/bindings.h"

#include "common/python_random.h"
#include "trex/constants.h"
#include "trex/landing_times.h"
#include "trex/match.h"
#include "trex/planner.h"

namespace py = pybind11;

PYBIND11_MODULE(_trex, m, py::mod_gil_not_used()) {
    using namespace sysone::trex;

    m.doc() = "Chrome's dinosaur game, the physics planner and the live shield.";
    m.attr("ACTIONS") = py::make_tuple("jump", "duck", "run");
    m.attr("FPS") = kFps;
    m.attr("FRAME_MS") = kFrameMs;
    m.attr("RESTART_DELAY_MS") = static_cast<int>(kRestartDelayMs);
    m.attr("DUCK_LEAD_FRAMES") = kDuckLeadFrames;
    m.attr("RECENT_ANSWERS") = kRecentAnswers;
    m.attr("LONGEST_LATENCY") = kLongestLatency;
    m.attr("LONGEST_JITTER") = kLongestJitter;
    m.attr("LONGEST_STAGGER") = kLongestStagger;
    m.attr("LONGEST_WAIT") = kLongestWait;
    m.attr("GAPS_KEPT") = kGapsKept;
    m.attr("GAPS_NEEDED") = kGapsNeeded;
    m.attr("FINISHED_KEPT") = kFinishedKept;
    m.attr("DROPPED_KEPT") = kDroppedKept;
    m.attr("ACCEPTED_KEPT") = kAcceptedKept;

    py::class_<sysone::PythonRandom>(m, "RandomStream",
                                     "The stream of CPython's random.Random(text), bit for bit.")
        .def(py::init([](const std::string& text) { return sysone::PythonRandom(text); }),
             py::arg("text"))
        .def("random", &sysone::PythonRandom::random, "The next double in [0, 1).");

    python::register_game(m);
    python::register_planning(m);
    python::register_autoplay(m);
    python::register_match(m);
}
