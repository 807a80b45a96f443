#include "arena/bindings.h"
#include "arena/core/numbers.h"
#include "common/philox.h"
#include "common/xxh64.h"

namespace sysone::arena::python {

namespace py = pybind11;

void register_numbers(py::module_& m) {
    m.def("isqrt", &isqrt, py::arg("value"), "Floor of the square root.");
    m.def("sine", &sine, py::arg("angle"), "Sine times 2^30 of an angle in 1/2^20 turn.");
    m.def("cosine", &cosine, py::arg("angle"), "Cosine times 2^30 of an angle in 1/2^20 turn.");
    m.def(
        "atan2", [](Wide y, Wide x) { return atan2(y, x); }, py::arg("y"), py::arg("x"),
        "The angle of (x, y) in 1/2^20 turn.");
    m.def("philox", &philox4x32, py::arg("counter"), py::arg("key"), "Philox4x32-10.");
    m.def(
        "xxh64",
        [](const py::bytes& data, std::uint64_t seed) {
            const std::string_view view = data;
            return xxh64({reinterpret_cast<const std::uint8_t*>(view.data()), view.size()}, seed);
        },
        py::arg("data"), py::arg("seed") = 0, "XXH64.");
}

}  // namespace sysone::arena::python
