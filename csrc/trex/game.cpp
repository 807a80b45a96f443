#include "trex/game.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sysone::trex {

std::string_view event_name(Event event) {
    constexpr std::array<std::string_view, 3> kNames = {"press", "score", "hit"};
    return kNames[static_cast<std::size_t>(event)];
}

Game::Game(std::int64_t seed, Course course, GameOptions options)
    : seed_(seed), course_(course), options_(options) {
    if (options_.scenery) {
        scenery_.emplace(seed);
        dino_.set_blink_delay(scenery_->first_blink_delay());
    }
}

void Game::press_jump() {
    if (crashed_) return;
    if (!playing_) {
        playing_ = true;
        step();
    }
    if (!dino_.jumping && !dino_.ducking) {
        events_.push_back(Event::kPress);
        dino_.start_jump(speed_);
    }
}

void Game::press_duck() {
    if (!playing_ || crashed_) return;
    if (dino_.jumping) {
        dino_.set_speed_drop();
    } else if (!dino_.ducking) {
        dino_.set_duck(true);
    }
}

void Game::release_duck() {
    dino_.speed_drop = false;
    dino_.set_duck(false);
}

void Game::restart() {
    if (!crashed_) return;
    ++run_index_;
    obstacle_index_ = 0;
    history_.clear();
    running_time_ms_ = 0;
    playing_ = true;
    paused_ = false;
    crashed_ = false;
    distance_ = 0;
    speed_ = kStartSpeed;
    achievement_ = false;
    flash_timer_ms_ = 0;
    flash_iterations_ = 0;
    shown_score_ = 0;
    obstacles_.clear();
    if (scenery_) scenery_->reset();
    dino_.reset();
    events_.push_back(Event::kPress);
    inverted_ = false;
    invert_timer_ms_ = 0;
    crash_ms_ = 0;
    restart_timer_ms_ = 0;
    restart_frame_ = 0;
    step();
}

void Game::step() {
    double dt = kFrameMs;
    const double fade = dt / kInvertTransitionMs;
    invert_fade_ = std::clamp(invert_fade_ + (inverted_ ? fade : -fade), 0.0, 1.0);
    if (crashed_) {
        advance_crash(dt);
        return;
    }

    if (playing_) {
        if (dino_.jumping) dino_.update_jump(dt);
        running_time_ms_ += dt;

        // the first landing starts the intro; until then the world stands still
        if (dino_.jump_count == 1 && !playing_intro_ && !activated_) {
            playing_intro_ = true;
            dino_.playing_intro = true;
            activated_ = true;
            intro_ms_ = 0;
        }
        if (playing_intro_) {
            update_horizon(0, false);
            intro_ms_ += dt;
            if (intro_ms_ >= kIntroMs) {
                running_time_ms_ = 0;
                playing_intro_ = false;
                dino_.playing_intro = false;
            }
        } else {
            if (!activated_) dt = 0;
            update_horizon(dt, inverted_);
        }

        const bool hit =
            running_time_ms_ > kClearTimeMs && !obstacles_.empty() && !options_.invincible &&
            collides(dino_.x, dino_.y, dino_.ducking,
                     {obstacles_.front().x, obstacles_.front().y, obstacles_.front().width,
                      obstacles_.front().height(), obstacles_.front().boxes});
        if (hit) {
            game_over();
        } else {
            distance_ += speed_ * dt / kFrameMs;
            if (speed_ < kMaxSpeed) speed_ += kAcceleration;
        }
        update_score(dt);
        update_night(dt);
    }

    constexpr int kMaxBlinkCount = 3;
    if (playing_ || (!activated_ && dino_.blink_count < kMaxBlinkCount)) {
        if (dino_.update(dt) && scenery_) dino_.set_blink_delay(scenery_->draw_blink_delay());
    }
}

std::vector<Event> Game::drain_events() { return std::exchange(events_, {}); }

int Game::score() const {
    const double shown = std::ceil(distance_);
    return shown == 0 ? 0 : js_round(shown * kDistanceCoefficient);
}

double Game::reveal() const {
    if (!activated_) return kTrexWidth;
    if (!playing_intro_) return kWidth;
    const double left = 1 - std::min(1.0, intro_ms_ / kIntroMs);
    return kTrexWidth + (kWidth - kTrexWidth) * (1 - left * left * left);
}

void Game::advance_crash(double dt) {
    crash_ms_ += dt;
    restart_timer_ms_ += dt;
    if (restart_frame_ == 0 && restart_timer_ms_ > kRestartLogoPauseMs) {
        restart_timer_ms_ = 0;
        restart_frame_ = 1;
    } else if (restart_frame_ > 0 && restart_frame_ < kRestartFrames - 1) {
        ++restart_frame_;
    }
}

void Game::update_horizon(double dt, bool night) {
    if (scenery_) scenery_->update(dt, speed_, night);
    if (running_time_ms_ > kClearTimeMs) update_obstacles(dt);
}

void Game::update_obstacles(double dt) {
    std::ptrdiff_t removed = 0;
    for (Obstacle& obstacle : obstacles_) {
        obstacle.update(dt, speed_);
        if (obstacle.removed) ++removed;
    }
    // one element leaves the front for each that was removed, not necessarily the same one
    obstacles_.erase(obstacles_.begin(), obstacles_.begin() + removed);

    if (obstacles_.empty()) {
        add_obstacle();
        return;
    }
    const std::size_t last = obstacles_.size() - 1;
    const Obstacle& tail = obstacles_[last];
    if (!tail.following_created && tail.x + tail.width > 0 &&
        tail.x + tail.width + tail.gap < kWidth) {
        add_obstacle();
        obstacles_[last].following_created = true;
    }
}

void Game::add_obstacle() {
    const Place place{run_index_, obstacle_index_, speed_, history_};
    Spec spec = course_.spec(place, course_streams_);
    if (history_.too_many(spec.kind) || speed_ < kind_info(spec.kind).min_speed) {
        spec = course_.original_spec(place, course_streams_, "rule");
    }
    obstacles_.emplace_back(spec, speed_, next_obstacle_id_++);
    ++obstacle_index_;
    history_.push(spec.kind);
}

void Game::update_score(double dt) {
    score_visible_ = true;
    if (!achievement_) {
        shown_score_ = score();
        if (shown_score_ > max_score_ && score_units_ == kMaxDistanceUnits) {
            ++score_units_;
            max_score_ = max_score_ * 10 + 9;
        }
        if (shown_score_ > 0 && shown_score_ % kAchievementDistance == 0) {
            achievement_ = true;
            flash_timer_ms_ = 0;
            events_.push_back(Event::kScore);
        }
        return;
    }
    if (flash_iterations_ <= kFlashIterations) {
        flash_timer_ms_ += dt;
        if (flash_timer_ms_ < kFlashDurationMs) {
            score_visible_ = false;
        } else if (flash_timer_ms_ > kFlashDurationMs * 2) {
            flash_timer_ms_ = 0;
            ++flash_iterations_;
        }
    } else {
        achievement_ = false;
        flash_iterations_ = 0;
        flash_timer_ms_ = 0;
    }
}

void Game::update_night(double dt) {
    if (invert_timer_ms_ > kInvertFadeDurationMs) {
        invert_timer_ms_ = 0;
        inverted_ = false;
    } else if (invert_timer_ms_ > 0) {
        invert_timer_ms_ += dt;
    } else if (const int points = score(); points > 0 && points % kInvertDistance == 0) {
        invert_timer_ms_ = dt;
        inverted_ = true;
    }
}

void Game::game_over() {
    events_.push_back(Event::kHit);
    playing_ = false;
    paused_ = true;
    crashed_ = true;
    ++deaths_;
    achievement_ = false;
    crash_ms_ = 0;
    restart_timer_ms_ = 0;
    restart_frame_ = 0;
    if (dino_.ducking) ++dino_.x;
    dino_.update(100, Status::kCrashed);
    if (distance_ > high_score_) high_score_ = static_cast<int>(std::ceil(distance_));
}

}  // namespace sysone::trex
