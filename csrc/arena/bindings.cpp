// sysone_core._arena: the table of contents.
#include "arena/bindings.h"

#include "arena/core/rules.h"
#include "arena/sandbox/seccomp.h"

namespace py = pybind11;

PYBIND11_MODULE(_arena, m, py::mod_gil_not_used()) {
    using namespace sysone::arena;

    m.doc() = "The deterministic match simulator: integer arithmetic, no clock, no files.";
    m.attr("VERSION") = ARENA_VERSION;
    m.attr("SOURCES_SHA256") = ARENA_SOURCES_SHA256;
    m.attr("TICKS_PER_SECOND") = kTicksPerSecond;
    py::register_exception<RulesError>(m, "RulesError", PyExc_ValueError);
    python::register_numbers(m);
    python::register_match(m);
    python::register_batch(m);
    m.def(
        "seccomp_filter",
        [] {
            const std::vector<std::uint8_t> code = seccomp_filter();
            return py::bytes(reinterpret_cast<const char*>(code.data()), code.size());
        },
        "The BPF program that strategies are held by; empty where there is none.");
}
