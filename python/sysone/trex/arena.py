"""The frames of a match: what happens between two of them, and in which order."""

from collections.abc import Callable, Sequence

import msgspec

from sysone.trex.pacer import Pacer
from sysone.trex.pilot import Pilot
from sysone.trex.score import PlayerSummary, rounded
from sysone_core.trex import FRAME_MS, RESTART_DELAY_MS


class PlayerReport(PlayerSummary, frozen=True, kw_only=True):
    """A player's summary and how it was played."""

    game_time_ratio: float
    """Frames of the game per tick of the arena; below 1 after crashes and in lockstep."""
    shield: bool
    prompt: str
    requests_in_flight: int


class ArenaReport(msgspec.Struct, frozen=True, kw_only=True):
    """A match so far."""

    frames: int
    seconds: float
    mode: str
    host_stall_seconds_dropped: float
    players: dict[str, PlayerReport]
    crash_count: int
    late_frames_share: float | None
    """Frames that ended after their slot of 1/60 s, of all frames; None in virtual time."""


class Arena:
    """Runs the games of its pilots, frame by frame.

    ``clock`` gives monotonic seconds and is read by `advance` only, so a match that is driven by
    `tick` alone has no wall time in it.
    """

    def __init__(self, pilots: Sequence[Pilot], clock: Callable[[], float]) -> None:
        self.pilots = list(pilots)
        self.frame = 0
        self.started = False
        self.paused = False
        self.crash_count = 0
        self.late_frames = 0
        self.pacer: Pacer | None = None
        self._clock = clock

    def start(self) -> None:
        """Press jump in every game, which starts it; in real time questions may be asked now."""
        self.started = True
        for pilot in self.pilots:
            with pilot.lock:
                pilot.game.press_jump()
                if pilot.recorder is not None:
                    pilot.recorder.played(0)
                if pilot.lockstep is None:
                    pilot.publish(0)

    def advance(self, most: int | None = None) -> int:
        """Run the frames that are due, at most ``most``; returns how many ran."""
        if self.pacer is None:
            self.pacer = Pacer(self._clock)
        due = self.pacer.frames(self.paused or not self.started)
        steps = due if most is None else min(due, most)
        for step in range(steps):
            self.tick()
            if self.pacer.late_ms(later=due - 1 - step) > FRAME_MS:
                self.late_frames += 1
        return steps

    def tick(self) -> None:
        """One sixtieth of a second, for every pilot."""
        if not self.started or self.paused:
            return
        self.frame += 1
        for pilot in self.pilots:
            with pilot.lock:
                if pilot.game.crashed:
                    self._after_crash(pilot)
                elif pilot.lockstep is None:
                    pilot.collect(self.frame)
                    self._play(pilot)
                    pilot.publish(self.frame)
                else:
                    self._lockstep(pilot, pilot.lockstep)
                if pilot.recorder is not None:
                    pilot.recorder.played(self.frame)

    def _after_crash(self, pilot: Pilot) -> None:
        pilot.collect(self.frame)
        pilot.step()
        if pilot.game.crash_ms >= RESTART_DELAY_MS:
            pilot.stats.finished_scores.append(pilot.game.score)
            pilot.reset_run()
            pilot.game.restart()
            pilot.publish(self.frame)

    def _lockstep(self, pilot: Pilot, frames_per_decision: int) -> None:
        if pilot.waiting:
            if not pilot.collect(self.frame):
                return
            pilot.waiting = False
        if pilot.game.playing and pilot.since >= frames_per_decision:
            pilot.since = 0
            pilot.waiting = True
            pilot.publish(self.frame)
            return
        pilot.since += 1
        self._play(pilot)

    def _play(self, pilot: Pilot) -> None:
        pilot.emergency(self.frame)
        pilot.enforce()
        pilot.step()
        pilot.game_frames += 1
        pilot.capture(self.frame)
        if pilot.game.crashed:
            self.crash_count += 1
            pilot.record_crash(self.frame)

    def report(self) -> ArenaReport:
        """The match up to now."""
        lockstep = self.pilots[0].lockstep
        pacer = self.pacer
        return ArenaReport(
            frames=self.frame,
            seconds=round(self.frame * FRAME_MS / 1000, 1),
            mode=(
                "real time" if lockstep is None else f"lockstep ({lockstep} frames per decision)"
            ),
            host_stall_seconds_dropped=round(pacer.dropped_ms / 1000, 2) if pacer else 0.0,
            players={pilot.player.name: self._player(pilot) for pilot in self.pilots},
            crash_count=self.crash_count,
            late_frames_share=(
                rounded(self.late_frames / max(1, self.frame), 4) if pacer else None
            ),
        )

    def _player(self, pilot: Pilot) -> PlayerReport:
        with pilot.lock:
            summary = pilot.stats.summary(
                pilot.game,
                model=pilot.player.model,
                where=pilot.player.detail,
                usd_per_token=pilot.player.usd_per_token,
            )
        return PlayerReport(
            **{name: getattr(summary, name) for name in PlayerSummary.__struct_fields__},
            game_time_ratio=round(pilot.game_frames / max(1, self.frame), 3),
            shield=pilot.guarded,
            prompt=pilot.prompt,
            requests_in_flight=pilot.inflight,
        )
