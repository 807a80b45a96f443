#include "trex/snapshot.h"

namespace sysone::trex {
namespace {

Pose pose_of(Status status) {
    if (status == Status::kDucking) return Pose::kDuck;
    return status == Status::kJumping ? Pose::kJump : Pose::kRun;
}

}  // namespace

Snapshot snapshot(const Game& game, Held held, std::optional<Action> pending) {
    const Dino& dino = game.dino();
    Snapshot snap;
    snap.trex = {dino.velocity,         dino.y,          dino.jumping,
                 dino.ducking,          dino.speed_drop, dino.reached_min_height && dino.jumping,
                 pose_of(dino.status())};
    snap.trex_x = dino.x;
    snap.speed = game.speed();
    snap.obstacles.reserve(game.obstacles().size());
    for (const Obstacle& obstacle : game.obstacles()) {
        if (obstacle.removed || obstacle.x >= kWidth) continue;
        snap.obstacles.push_back({obstacle.id, obstacle.label(), obstacle.bird(), obstacle.x,
                                  obstacle.y, obstacle.width, obstacle.height(),
                                  obstacle.speed_offset, obstacle.boxes});
    }
    snap.held = held;
    snap.playing = game.playing() && !game.crashed();
    snap.pending = pending;
    return snap;
}

}  // namespace sysone::trex
