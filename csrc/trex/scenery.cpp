#include "trex/scenery.h"

#include <cmath>
#include <string>

namespace sysone::trex {
namespace {

constexpr int kCloudWidth = 46;
constexpr double kCloudFrequency = 0.5;
constexpr std::size_t kMaxClouds = 6;
constexpr double kCloudSpeed = 0.2;
constexpr int kMinCloudGap = 100;
constexpr int kMaxCloudGap = 400;
constexpr int kMinSkyLevel = 30;
constexpr int kMaxSkyLevel = 71;
constexpr int kMoonPhases = 7;
constexpr double kFade = 0.035;
constexpr double kMoonSpeed = 0.25;
constexpr double kStarSpeed = 0.3;
constexpr int kMaxStarY = 70;
constexpr int kBlinkTimingMs = 7000;

double moved_left(double x, double speed) { return x < -20 ? kWidth : x - speed; }

}  // namespace

Scenery::Scenery(std::int64_t seed)
    : random_("scenery-" + std::to_string(seed)), first_blink_delay_(draw_blink_delay()) {
    place_stars();
    add_cloud();
}

double Scenery::draw_blink_delay() { return std::ceil(random_.random() * kBlinkTimingMs); }

void Scenery::update(double dt, double game_speed, bool night) {
    update_ground(dt, game_speed);
    update_night(night);
    update_clouds(dt, game_speed);
}

void Scenery::reset() {
    ground_.x = {0, kWidth};
    night_.phase = 0;
    night_.opacity = 0;
    update_night(false);
}

void Scenery::update_ground(double dt, double game_speed) {
    const int increment = static_cast<int>(std::floor(game_speed * (60.0 / 1000) * dt));
    const std::size_t leading = ground_.x[0] <= 0 ? 0 : 1;
    const std::size_t other = 1 - leading;
    ground_.x[leading] -= increment;
    ground_.x[other] = ground_.x[leading] + kWidth;
    if (ground_.x[leading] <= -kWidth) {
        ground_.x[leading] += 2 * kWidth;
        ground_.x[other] = ground_.x[leading] - kWidth;
        ground_.texture[leading] = random_.random() > 0.5 ? kWidth : 0;
    }
}

void Scenery::update_clouds(double dt, double game_speed) {
    if (clouds_.empty()) {
        add_cloud();
        return;
    }
    const int step = static_cast<int>(std::ceil(kCloudSpeed / 1000 * dt * game_speed));
    for (Cloud& cloud : clouds_) cloud.x -= step;
    const Cloud& last = clouds_.back();
    if (clouds_.size() < kMaxClouds && kWidth - last.x > last.gap &&
        kCloudFrequency > random_.random()) {
        add_cloud();
    }
    std::erase_if(clouds_, [](const Cloud& cloud) { return cloud.x + kCloudWidth <= 0; });
}

void Scenery::update_night(bool on) {
    if (on && night_.opacity == 0) night_.phase = (night_.phase + 1) % kMoonPhases;
    if (on && (night_.opacity < 1 || night_.opacity == 0)) {
        night_.opacity += kFade;
    } else if (night_.opacity > 0) {
        night_.opacity -= kFade;
    }
    if (night_.opacity > 0) {
        night_.moon_x = moved_left(night_.moon_x, kMoonSpeed);
        if (night_.draw_stars) {
            for (Star& star : night_.stars) star.x = moved_left(star.x, kStarSpeed);
        }
    } else {
        night_.opacity = 0;
        place_stars();
    }
    night_.draw_stars = true;
}

void Scenery::place_stars() {
    constexpr int kSegment = kWidth / 2;
    for (int i = 0; i < 2; ++i) {
        Star& star = night_.stars[static_cast<std::size_t>(i)];
        star.x = random_.random_int(kSegment * i, kSegment * (i + 1));
        star.y = random_.random_int(0, kMaxStarY);
    }
}

void Scenery::add_cloud() {
    Cloud cloud{};
    cloud.x = kWidth;
    cloud.gap = random_.random_int(kMinCloudGap, kMaxCloudGap);
    cloud.y = random_.random_int(kMinSkyLevel, kMaxSkyLevel);
    clouds_.push_back(cloud);
}

}  // namespace sysone::trex
