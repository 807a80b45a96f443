// The keys of one player: what is held is pressed again where the game has let go of it.
#pragma once

#include "trex/game.h"
#include "trex/motion.h"

namespace sysone::trex {

class Keys {
  public:
    explicit Keys(Game& game) : game_(game) {}

    Held held() const { return held_; }
    void let_go() { held_ = Held::kRun; }

    // Whether taking an action would change what the keys do.
    bool changed_by(Action action) const {
        if (action == Action::kJump) return !game_.dino().jumping || held_ != Held::kRun;
        return action != as_action(held_);
    }

    // Takes an action; a jump in the air only lets go of the duck key.
    void apply(Action action) {
        if (action == Action::kJump && !game_.dino().jumping) {
            if (game_.dino().ducking) game_.release_duck();
            game_.press_jump();
        }
        held_ = after(action);
    }

    // Makes the game's keys what is held, before a frame.
    void enforce() {
        const Dino& dino = game_.dino();
        const bool standing_duck = !dino.jumping && dino.ducking;
        if (held_ == Held::kDuck) {
            if (dino.jumping ? !dino.speed_drop : !dino.ducking) game_.press_duck();
        } else if (dino.speed_drop || standing_duck) {
            game_.release_duck();
        }
    }

  private:
    Game& game_;
    Held held_ = Held::kRun;
};

}  // namespace sysone::trex
