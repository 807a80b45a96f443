// The parts of sysone_core._arena.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace sysone::arena::python {

void register_numbers(pybind11::module_& m);
void register_match(pybind11::module_& m);
void register_batch(pybind11::module_& m);

}  // namespace sysone::arena::python
