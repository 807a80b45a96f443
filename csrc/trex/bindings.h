// How the game's enumerations cross the border: as Python strings, refused with the choices named.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "trex/course.h"
#include "trex/motion.h"
#include "trex/obstacle.h"
#include "trex/policy.h"

namespace sysone::trex::python {

namespace py = pybind11;

void register_game(py::module_& m);
void register_planning(py::module_& m);
void register_autoplay(py::module_& m);
void register_match(py::module_& m);

using BoxTuple = std::tuple<int, int, int, int>;

inline py::list box_tuples(const BoxList& boxes) {
    py::list list;
    for (const Box& box : boxes) list.append(py::make_tuple(box.x, box.y, box.width, box.height));
    return list;
}

// The names of one enumeration, in the order of its values.
template <typename Enum>
struct Names;

template <>
struct Names<Action> {
    static constexpr auto field = "action";
    static constexpr std::array<std::string_view, 3> names = {"jump", "duck", "run"};
};
template <>
struct Names<Held> {
    static constexpr auto field = "held";
    static constexpr std::array<std::string_view, 2> names = {"run", "duck"};
};
template <>
struct Names<Pose> {
    static constexpr auto field = "status";
    static constexpr std::array<std::string_view, 3> names = {"run", "jump", "duck"};
};
template <>
struct Names<Kind> {
    static constexpr auto field = "kind";
    static constexpr std::array<std::string_view, 3> names = {"cactusSmall", "cactusLarge",
                                                              "pterodactyl"};
};

template <typename Enum>
std::string_view name_of(Enum value) {
    return Names<Enum>::names[static_cast<std::size_t>(value)];
}

template <typename Enum>
Enum parse_name(std::string_view text) {
    constexpr auto& names = Names<Enum>::names;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == text) return static_cast<Enum>(i);
    }
    std::string message = std::string(Names<Enum>::field) + " must be one of ";
    for (std::size_t i = 0; i < names.size(); ++i) {
        message += (i > 0 ? ", '" : "'") + std::string(names[i]) + "'";
    }
    throw py::value_error(message + ", not '" + std::string(text) + "'");
}

inline CourseStyle parse_style(const std::string& style) {
    if (style == "original") return CourseStyle::kOriginal;
    if (style == "staged") return CourseStyle::kStaged;
    throw py::value_error("course style must be one of 'original', 'staged', not '" + style + "'");
}

inline Policy parse_policy(const std::string& policy) {
    if (policy == "planner_best") return Policy::kPlannerBest;
    if (policy == "random_safe") return Policy::kRandomSafe;
    if (policy == "random") return Policy::kRandom;
    if (policy == "hold") return Policy::kHold;
    throw py::value_error(
        "policy must be one of 'planner_best', 'random_safe', 'random', 'hold', not '" + policy +
        "'");
}

inline void check_at_least(const char* field, int value, int least) {
    if (value < least) {
        throw py::value_error(std::string(field) + " must be at least " + std::to_string(least) +
                              ", not " + std::to_string(value));
    }
}

// A type caster for each enumeration above.
template <typename Enum>
struct NameCaster {
    PYBIND11_TYPE_CASTER(Enum, pybind11::detail::const_name("str"));

    bool load(py::handle source, bool /*convert*/) {
        if (!py::isinstance<py::str>(source)) return false;
        value = parse_name<Enum>(py::cast<std::string>(source));
        return true;
    }
    static py::handle cast(Enum source, py::return_value_policy, py::handle) {
        const std::string_view name = name_of(source);
        return py::str(name.data(), name.size()).release();
    }
};

}  // namespace sysone::trex::python

namespace pybind11::detail {

template <>
struct type_caster<sysone::trex::Action> : sysone::trex::python::NameCaster<sysone::trex::Action> {
};
template <>
struct type_caster<sysone::trex::Held> : sysone::trex::python::NameCaster<sysone::trex::Held> {};
template <>
struct type_caster<sysone::trex::Pose> : sysone::trex::python::NameCaster<sysone::trex::Pose> {};
template <>
struct type_caster<sysone::trex::Kind> : sysone::trex::python::NameCaster<sysone::trex::Kind> {};

}  // namespace pybind11::detail
