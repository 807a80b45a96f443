// Chrome's dinosaur game, one step a frame of 1000/60 ms.
//
//   inputs (any time)          step()
//   press_jump  ──┐    1 clock, crash clock
//   press_duck  ──┼──▶ 2 jump physics ─▶ intro ─▶ scenery ─▶ obstacles
//   release_duck ─┤    3 collision ─▶ distance, speed ─▶ score, night
//   restart     ──┘    4 dinosaur's animation
//
// Speed and running time are sums of many small additions; thresholds are met on the frames on
// which those sums meet them, so they are never computed by multiplication.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "trex/course.h"
#include "trex/dino.h"
#include "trex/obstacle.h"
#include "trex/scenery.h"

namespace sysone::trex {

enum class Event : std::uint8_t { kPress, kScore, kHit };

std::string_view event_name(Event event);

struct GameOptions {
    bool invincible = false;
    // Without scenery nothing is drawn from the cosmetic stream; the physics is the same.
    bool scenery = true;
};

class Game {
  public:
    Game(std::int64_t seed, Course course, GameOptions options = {});

    void press_jump();
    void press_duck();
    void release_duck();
    void restart();
    void step();

    std::vector<Event> drain_events();

    std::int64_t seed() const { return seed_; }
    const Course& course() const { return course_; }
    const GameOptions& options() const { return options_; }
    const Dino& dino() const { return dino_; }
    const std::vector<Obstacle>& obstacles() const { return obstacles_; }
    const History& history() const { return history_; }
    const Scenery* scenery() const { return scenery_ ? &*scenery_ : nullptr; }
    bool playing() const { return playing_; }
    bool crashed() const { return crashed_; }
    bool paused() const { return paused_; }
    bool activated() const { return activated_; }
    bool playing_intro() const { return playing_intro_; }
    bool inverted() const { return inverted_; }
    bool achievement() const { return achievement_; }
    bool score_visible() const { return score_visible_; }
    double speed() const { return speed_; }
    double distance() const { return distance_; }
    double running_time_ms() const { return running_time_ms_; }
    double intro_ms() const { return intro_ms_; }
    double crash_ms() const { return crash_ms_; }
    double invert_timer_ms() const { return invert_timer_ms_; }
    double invert_fade() const { return invert_fade_; }
    int restart_frame() const { return restart_frame_; }
    int score() const;
    int shown_score() const { return shown_score_; }
    int high_score() const { return high_score_; }
    int deaths() const { return deaths_; }
    int run_index() const { return run_index_; }
    int obstacle_index() const { return obstacle_index_; }
    // Visible width of the canvas in pixels: it opens during the intro.
    double reveal() const;

  private:
    void advance_crash(double dt);
    void update_horizon(double dt, bool night);
    void update_obstacles(double dt);
    void add_obstacle();
    void update_score(double dt);
    void update_night(double dt);
    void game_over();

    std::int64_t seed_;
    Course course_;
    CourseStreams course_streams_;
    GameOptions options_;
    std::optional<Scenery> scenery_;
    Dino dino_;
    std::vector<Obstacle> obstacles_;
    History history_;
    std::vector<Event> events_;

    bool playing_ = false;
    bool crashed_ = false;
    bool paused_ = false;
    bool activated_ = false;
    bool playing_intro_ = false;
    double speed_ = kStartSpeed;
    double distance_ = 0;
    double running_time_ms_ = 0;
    double intro_ms_ = 0;
    int run_index_ = 0;
    int obstacle_index_ = 0;
    int next_obstacle_id_ = 1;
    int deaths_ = 0;
    int high_score_ = 0;

    double crash_ms_ = 0;
    double restart_timer_ms_ = 0;
    int restart_frame_ = 0;

    int shown_score_ = 0;
    int score_units_ = kMaxDistanceUnits;
    int max_score_ = 99999;
    bool score_visible_ = true;
    bool achievement_ = false;
    double flash_timer_ms_ = 0;
    int flash_iterations_ = 0;

    bool inverted_ = false;
    double invert_timer_ms_ = 0;
    double invert_fade_ = 0;
};

}  // namespace sysone::trex
