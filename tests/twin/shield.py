"""The live shield in plain Python: the action itself when it survives, else one that does."""

from twin.planner import Search, Snapshot, Trex, World, after


def protect(snap: Snapshot, action: str, urgent: int = 12, horizon: int = 42) -> str:
    coming = next((o for o in snap.obstacles if o.x + o.width > snap.trex_x + 1), None)
    if not snap.playing or coming is None:
        return action
    world = World(snap, horizon)
    search = Search(world, (1, 1), horizon)
    trex, held = snap.trex, snap.held
    recovery = min(horizon, max(urgent + 6, world.passed.get(coming.id, horizon) + 6))

    def survives(state: Trex, choice: str, start: int, count: int) -> bool:
        pressed = search.press(state, choice, start)
        return search.run_frames(pressed, after(choice), start, count) is not None

    # An arc that clears is never shortened.
    drop = action == "duck" and trex.jumping and held == "run"
    if drop and survives(trex, "run", 0, recovery):
        return "run"
    motion_change = action != held and (trex.jumping or action == "jump")
    if survives(trex, action, 0, recovery if motion_change else urgent):
        return action
    for alternate in (held, "jump", "duck", "run"):
        if alternate != action and survives(trex, alternate, 0, recovery):
            return alternate
    if not motion_change:
        return action
    if held == "run" and action != "run":
        # Wait while a later jump still clears; the jump itself is left to a later answer.
        state: Trex | None = trex
        for delay in range(1, min(urgent, recovery) + 1):
            state = search.run_frames(state, "run", delay - 1, 1)
            if state is None:
                break
            if survives(state, "jump", delay, recovery - delay):
                return "run"

    def lives(choice: str) -> int:
        """How many frames pass before the hit."""
        state: Trex | None = search.press(trex, choice, 0)
        for k in range(recovery):
            state = search.run_frames(state, after(choice), k, 1)
            if state is None:
                return k
        return recovery

    return held if lives(held) > lives(action) else action
