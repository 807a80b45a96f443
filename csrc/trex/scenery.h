// Everything that is only drawn: clouds, ground texture, night sky, the waiting dinosaur's blink.
// It has a random stream of its own and never influences obstacles, score or planning.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "common/python_random.h"
#include "trex/constants.h"

namespace sysone::trex {

struct Cloud {
    int x;
    int y;
    int gap;
};

struct GroundLine {
    std::array<int, 2> x = {0, kWidth};
    std::array<int, 2> texture = {0, kWidth};
};

struct Star {
    double x;
    int y;
};

struct NightSky {
    double opacity = 0;
    int phase = 0;
    double moon_x = 0;
    bool draw_stars = false;
    std::array<Star, 2> stars{};
};

class Scenery {
  public:
    explicit Scenery(std::int64_t seed);

    // A new delay in ms until the waiting dinosaur blinks.
    double draw_blink_delay();

    void update(double dt, double game_speed, bool night);
    void reset();

    const std::deque<Cloud>& clouds() const { return clouds_; }
    const GroundLine& ground() const { return ground_; }
    const NightSky& night() const { return night_; }
    double first_blink_delay() const { return first_blink_delay_; }

  private:
    void update_ground(double dt, double game_speed);
    void update_clouds(double dt, double game_speed);
    void update_night(bool on);
    void place_stars();
    void add_cloud();

    PythonRandom random_;
    double first_blink_delay_;
    std::deque<Cloud> clouds_;
    GroundLine ground_;
    NightSky night_;
};

}  // namespace sysone::trex
