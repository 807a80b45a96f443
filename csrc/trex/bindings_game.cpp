#include <cmath>
#include <map>

#include "trex/bindings.h"
#include "trex/game.h"
#include "trex/record.h"

namespace sysone::trex::python {
namespace {

const char* style_name(const Course& course) {
    return course.style == CourseStyle::kOriginal ? "original" : "staged";
}

void check_place(int run_index, int index, double speed) {
    if (run_index < 0 || index < 0) {
        throw py::value_error("run_index and index must be at least 0, not " +
                              std::to_string(run_index) + " and " + std::to_string(index));
    }
    if (!(std::isfinite(speed) && speed >= 0)) {
        throw py::value_error("speed must be finite and at least 0 pixels per frame, not " +
                              std::to_string(speed));
    }
}

Spec make_spec(Kind kind, int size, int y, double gap, bool faster, std::string source) {
    if (size < 1 || size > kMaxObstacleLength) {
        throw py::value_error("size must be 1 to 3, not " + std::to_string(size));
    }
    if (!(gap >= 0 && gap <= 1)) {
        throw py::value_error("gap must be within 0 and 1, not " + std::to_string(gap));
    }
    return {kind, size, y, gap, faster, std::move(source)};
}

Game make_game(std::int64_t seed, const py::object& course, bool invincible, bool scenery) {
    const Course chosen = py::isinstance<Course>(course)
                              ? py::cast<Course>(course)
                              : Course{parse_style(py::cast<std::string>(course)), seed};
    return Game(seed, chosen, {invincible, scenery});
}

// Long plays run on a copy without the GIL; the game is replaced when they are done, so another
// thread that looks meanwhile sees the game before.
template <typename Play>
void play_released(Game& game, Play play) {
    Game copy = game;
    {
        const py::gil_scoped_release released;
        play(copy);
    }
    game = std::move(copy);
}

constexpr int kFramesWithGil = 256;

void step(Game& game, int frames) {
    if (frames < 0) {
        throw py::value_error("frames must be at least 0, not " + std::to_string(frames));
    }
    const auto play = [frames](Game& played) {
        for (int i = 0; i < frames; ++i) played.step();
    };
    if (frames <= kFramesWithGil) {
        play(game);
    } else {
        play_released(game, play);
    }
}

void press_letter(Game& game, char letter) {
    switch (letter) {
        case 'J':
            return game.press_jump();
        case 'D':
            return game.press_duck();
        case 'U':
            return game.release_duck();
        case 'R':
            return game.restart();
        default:
            throw py::value_error(std::string("key letters are J, D, U and R, not '") + letter +
                                  "'");
    }
}

std::vector<std::uint64_t> advance_checksum(Game& game, const std::map<int, std::string>& calls,
                                            int frames, int every) {
    if (every < 1 || frames < 0) {
        throw py::value_error("frames must be at least 0 and every at least 1, not " +
                              std::to_string(frames) + " and " + std::to_string(every));
    }
    std::vector<std::uint64_t> sums;
    play_released(game, [&](Game& played) {
        Checksum checksum;
        std::vector<std::uint8_t> record;
        for (int frame = 1; frame <= frames; ++frame) {
            if (const auto found = calls.find(frame); found != calls.end()) {
                for (const char letter : found->second) press_letter(played, letter);
            }
            played.step();
            record.clear();
            append_record(played, record);
            checksum.add(record);
            if (frame % every == 0) sums.push_back(checksum.value());
        }
    });
    return sums;
}

py::bytes packed_record(const Game& game) {
    std::vector<std::uint8_t> record;
    append_record(game, record);
    return {reinterpret_cast<const char*>(record.data()), record.size()};
}

py::list history(const Game& game) {
    py::list names;
    for (std::size_t i = 0; i < game.history().size(); ++i) names.append(game.history()[i]);
    return names;
}

py::dict scenery(const Game& game) {
    const Dino& dino = game.dino();
    py::dict state;
    state["trex_sprite"] = dino.sprite();
    state["trex_anim_frame"] = dino.animation_frame();
    state["trex_timer"] = dino.timer_ms();
    state["blink"] = py::make_tuple(dino.blink_count, dino.blink_delay_ms());
    state["invert_timer"] = game.invert_timer_ms();
    state["invert_fade"] = game.invert_fade();
    state["restart_frame"] = game.restart_frame();
    const Scenery* drawn = game.scenery();
    if (drawn == nullptr) return state;

    py::list clouds;
    for (const Cloud& cloud : drawn->clouds()) {
        clouds.append(py::make_tuple(cloud.x, cloud.y, cloud.gap));
    }
    py::list stars;
    for (const Star& star : drawn->night().stars) stars.append(py::make_tuple(star.x, star.y));
    const NightSky& night = drawn->night();
    state["clouds"] = clouds;
    state["horizon_x"] = drawn->ground().x;
    state["horizon_source"] = drawn->ground().texture;
    state["night"] =
        py::make_tuple(night.opacity, night.moon_x, night.phase, night.draw_stars, stars);
    return state;
}

void register_courses(py::module_& m) {
    py::class_<Spec>(m, "Spec", "What a course asks for at one place.")
        .def(py::init(&make_spec), py::arg("kind"), py::arg("size") = 1, py::arg("y") = 0,
             py::arg("gap") = 0.5, py::arg("faster") = false, py::arg("source") = "random")
        .def_readonly("kind", &Spec::kind)
        .def_readonly("size", &Spec::size)
        .def_readonly("y", &Spec::y)
        .def_readonly("gap", &Spec::gap)
        .def_readonly("faster", &Spec::faster)
        .def_readonly("source", &Spec::source)
        .def("__eq__", [](const Spec& a, const py::object& b) {
            return py::isinstance<Spec>(b) && a == py::cast<const Spec&>(b);
        });

    py::class_<Course>(m, "Course", "A deterministic source of obstacles.")
        .def_readonly("seed", &Course::seed)
        .def_property_readonly("style", &style_name)
        .def(
            "spec",
            [](const Course& course, const Game& game, int index, const std::string& source) {
                check_place(game.run_index(), index, game.speed());
                CourseStreams streams;
                return course.spec({game.run_index(), index, game.speed(), game.history()}, streams,
                                   source);
            },
            py::arg("game"), py::arg("index"), py::arg("source") = "random");
    struct RandomCourse : Course {};
    struct StagedCourse : Course {};
    py::class_<RandomCourse, Course>(m, "RandomCourse", "Every obstacle from its own stream.")
        .def(py::init(
                 [](std::int64_t seed) { return RandomCourse{{CourseStyle::kOriginal, seed}}; }),
             py::arg("seed"));
    py::class_<StagedCourse, Course>(m, "StagedCourse", "The original draws, shaped by phase.")
        .def(py::init([](std::int64_t seed) { return StagedCourse{{CourseStyle::kStaged, seed}}; }),
             py::arg("seed"));

    m.def(
        "course_spec",
        [](const std::string& style, std::int64_t seed, int run_index, int index, double speed,
           const std::vector<Kind>& kinds) {
            check_place(run_index, index, speed);
            History past;
            for (auto kind = kinds.rbegin(); kind != kinds.rend(); ++kind) past.push(*kind);
            CourseStreams streams;
            return Course{parse_style(style), seed}.spec({run_index, index, speed, past}, streams);
        },
        py::arg("style"), py::arg("seed"), py::arg("run_index"), py::arg("index"), py::arg("speed"),
        py::arg("history") = std::vector<Kind>{},
        "The spec of one place without a game; history is most recent first.");
    m.def(
        "phase_name",
        [](int index, double speed) { return std::string(phase_at(index, speed).name); },
        py::arg("index"), py::arg("speed"), "The staged course's phase.");
}

}  // namespace

void register_game(py::module_& m) {
    m.def("js_round", &js_round, py::arg("value"), "Halves go up, also for negative values.");
    m.def(
        "obstacle_step", [](double speed, double offset) { return obstacle_step(speed, offset); },
        py::arg("speed"), py::arg("offset") = 0.0, "Whole pixels an obstacle moves in one frame.");
    m.def(
        "jump_step",
        [](double y, double velocity, bool speed_drop, double ms_per_frame, double dt) {
            const JumpStep step =
                jump_step(static_cast<int>(y), velocity, speed_drop, ms_per_frame, dt);
            return py::make_tuple(step.y, step.velocity, step.reached, step.ended);
        },
        py::arg("y"), py::arg("velocity"), py::arg("speed_drop"), py::arg("ms_per_frame"),
        py::arg("dt") = kFrameMs, "One frame of a jump: new y, new velocity, reached, ended.");

    register_courses(m);

    py::class_<Obstacle>(m, "Obstacle", "One obstacle of a game (a copy).")
        .def(py::init([](const Spec& spec, double speed, int id) {
                 check_place(0, 0, speed);
                 return Obstacle(spec, speed, id);
             }),
             py::arg("spec"), py::arg("speed"), py::arg("id") = 1)
        .def_readonly("id", &Obstacle::id)
        .def_readonly("kind", &Obstacle::kind)
        .def_property_readonly("label", &Obstacle::label)
        .def_property_readonly("bird", &Obstacle::bird)
        .def_readonly("x", &Obstacle::x)
        .def_readonly("y", &Obstacle::y)
        .def_readonly("size", &Obstacle::size)
        .def_readonly("width", &Obstacle::width)
        .def_property_readonly("height", &Obstacle::height)
        .def_readonly("speed_offset", &Obstacle::speed_offset)
        .def_readonly("gap", &Obstacle::gap)
        .def_property_readonly("boxes", [](const Obstacle& o) { return box_tuples(o.boxes); })
        .def_readonly("frame", &Obstacle::frame)
        .def_readonly("following_created", &Obstacle::following_created);

    py::class_<Game>(m, "Game", "One game at 60 frames a second.")
        .def(py::init(&make_game), py::arg("seed") = 0, py::arg("course") = "original",
             py::kw_only(), py::arg("invincible") = false, py::arg("scenery") = true)
        .def("press_jump", &Game::press_jump)
        .def("press_duck", &Game::press_duck)
        .def("release_duck", &Game::release_duck)
        .def("restart", &Game::restart)
        .def("step", &step, py::arg("frames") = 1, "Advance by whole frames of 1000/60 ms.")
        .def(
            "drain_events",
            [](Game& game) {
                py::list names;
                for (const Event event : game.drain_events()) {
                    names.append(std::string(event_name(event)));
                }
                return names;
            },
            "The sound events since the last call.")
        .def_property_readonly("seed", &Game::seed)
        .def_property_readonly("course", &Game::course)
        .def_property_readonly("invincible", [](const Game& g) { return g.options().invincible; })
        .def_property_readonly("playing", &Game::playing)
        .def_property_readonly("crashed", &Game::crashed)
        .def_property_readonly("paused", &Game::paused)
        .def_property_readonly("activated", &Game::activated)
        .def_property_readonly("playing_intro", &Game::playing_intro)
        .def_property_readonly("intro_ms", &Game::intro_ms)
        .def_property_readonly("crash_ms", &Game::crash_ms)
        .def_property_readonly("speed", &Game::speed)
        .def_property_readonly("distance", &Game::distance)
        .def_property_readonly("running_time", &Game::running_time_ms)
        .def_property_readonly("score", &Game::score)
        .def_property_readonly("shown_score", &Game::shown_score)
        .def_property_readonly("score_visible", &Game::score_visible)
        .def_property_readonly("achievement", &Game::achievement)
        .def_property_readonly("high_score", &Game::high_score)
        .def_property_readonly("deaths", &Game::deaths)
        .def_property_readonly("run_index", &Game::run_index)
        .def_property_readonly("obstacle_index", &Game::obstacle_index)
        .def_property_readonly("history", &history)
        .def_property_readonly(
            // by value: the game's own list changes with every step
            "obstacles", [](const Game& g) { return std::vector<Obstacle>(g.obstacles()); })
        .def_property_readonly("inverted", &Game::inverted)
        .def_property_readonly("reveal", &Game::reveal)
        .def_property_readonly("trex_x", [](const Game& g) { return g.dino().x; })
        .def_property_readonly("trex_y", [](const Game& g) { return g.dino().y; })
        .def_property_readonly("velocity", [](const Game& g) { return g.dino().velocity; })
        .def_property_readonly("jumping", [](const Game& g) { return g.dino().jumping; })
        .def_property_readonly("ducking", [](const Game& g) { return g.dino().ducking; })
        .def_property_readonly("speed_drop", [](const Game& g) { return g.dino().speed_drop; })
        .def_property_readonly("reached_min_height",
                               [](const Game& g) { return g.dino().reached_min_height; })
        .def_property_readonly("jump_count", [](const Game& g) { return g.dino().jump_count; })
        .def_property_readonly(
            "status", [](const Game& g) { return std::string(status_name(g.dino().status())); })
        .def_property_readonly("scenery", &scenery)
        .def("packed_record", &packed_record, "The physics state as little-endian bytes.")
        .def("advance_checksum", &advance_checksum, py::arg("calls"), py::arg("frames"),
             py::arg("every"), "Play and return the running FNV-1a checksums.");
}

}  // namespace sysone::trex::python
