"""What becomes of a question and of its answer: the bookkeeping of one player's game.

The pilot knows no threads, no processes and no wall clock. Whoever drives it calls
`next_question` to learn whether a question may go out, and `deliver` when its answer is there;
the arena calls `collect` and the rest between frames. `workers.Workers` does so with threads in
real time, `virtual.play` with a schedule.

The core's `play_match` plays by the same rules where no model has to be asked. The numbers that
both need are in ``csrc/trex/match.h``; a test holds both to the same matches under any conditions.
"""

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sysone.trex.decide import Timing
from sysone.trex.keys import ACTIONS, Action, Held, after
from sysone.trex.notices import Notice, Notices
from sysone.trex.question import (
    TRACE_FRAMES,
    CourseStyle,
    Crash,
    Decision,
    Identity,
    PremiseRule,
    Trace,
    View,
    Witness,
)
from sysone.trex.score import Statistics
from sysone.trex.timing import LandingTimes
from sysone_core.trex import (
    ACCEPTED_KEPT,
    DROPPED_KEPT,
    FINISHED_KEPT,
    Game,
    Snapshot,
    obstacle_step,
    protect,
    snapshot,
)

SAVED = "Arrival shield saved it"
TAKEN = {action: f"Answer → {action}" for action in ACTIONS}
NEW_OBSTACLE_X = 600
"""Snapshots show nothing from there on; a new obstacle is seen here first, or a step later."""
FASTEST_STEP = obstacle_step(13.001, 0.8)
"""Pixels that the fastest bird moves in a frame, at the top speed."""


class Pilot:
    """One game, the key that is held in it, and what is known of every question.

    ``lockstep`` is the number of frames played per decision while the game waits, or None in real
    time. ``guarded`` turns the three shields on: on the label, on arrival, in an emergency.
    ``clock`` gives monotonic seconds. ``listener`` hears every notice. ``game`` takes the place
    of a new one of ``seed`` and ``course``.

    With one request in flight every question goes out as the answer before it comes, hence with
    that answer as its premise. Under the reference's rule one discarded answer thus takes all that
    follow with it until the run ends; under ``checked`` the chain ends with the first question
    that goes out after its premise has become void.
    """

    def __init__(
        self,
        player: Identity,
        *,
        clock: Callable[[], float],
        guarded: bool = True,
        prompt: str = "labeled",
        lockstep: int | None = None,
        seed: int = 0,
        course: CourseStyle = "original",
        premise_rule: PremiseRule = "reference",
        listener: Callable[[Notice], None] | None = None,
        game: Game | None = None,
    ) -> None:
        self.player = player
        self.guarded = guarded
        self.prompt = prompt
        self.lockstep = lockstep
        self.premise_rule = premise_rule
        self.inflight = 1 if lockstep is not None else max(1, player.inflight)
        # Scenery is for the eye alone and never touches a score.
        self.game = game if game is not None else Game(seed, course, scenery=False)
        self.times = LandingTimes(self.inflight, lockstep)
        self.notices = Notices(listener)
        self.stats = Statistics()
        self.crashes: list[Crash] = []
        self.game_frames = 0
        # Taken around everything that a worker could see half done; threads bring a real one.
        self.lock: AbstractContextManager[Any] = nullcontext()
        self.wake: Callable[[], None] = _nothing
        self.clock = clock
        self.recorder: Witness | None = None
        # keys
        self.held: Held = "run"
        self.last_action: Action = "run"
        # questions
        self.seq = 0
        self.view: View | None = None
        self.active: set[int] = set()
        self.last_asked: int | None = None
        # answers on their way to the game, and those the next questions reckon with
        self.landing: deque[Decision] = deque()
        self.finished: deque[Decision] = deque(maxlen=FINISHED_KEPT)
        # answers that have landed
        self.applied = 0
        self.accepted = 0
        self.accepted_actions: dict[int, Action] = {}
        self.dropped: deque[int] = deque(maxlen=DROPPED_KEPT)
        # changes of the keys, which make answers to earlier views stale
        self.epoch = 0
        self.bump_seq: int | None = None
        # lockstep
        self.since = lockstep or 0
        self.waiting = False
        # the recent past
        self._passed: set[int] = set()
        self._look_frame = 0
        self._trace: deque[tuple[int, int, Held, float, int]] = deque(maxlen=TRACE_FRAMES)
        self._moment: Snapshot | None = None

    # Timing -----------------------------------------------------------------------------------

    def timing(self) -> Timing:
        """What a question asked now is planned for, in frames."""
        return self.times.timing()

    def observe_timing(self, latency: int, frame: int) -> None:
        """Learn from an answer that landed at ``frame``, ``latency`` frames after its view."""
        self.times.observe(latency, frame)

    @property
    def stagger(self) -> int:
        """Frames between two questions when several may be in flight."""
        return self.times.stagger

    @property
    def longest_wait(self) -> int:
        """Frames between two questions that the planner reckons with."""
        return self.times.longest_wait

    # Asking -----------------------------------------------------------------------------------

    def moment(self) -> Snapshot:
        """The game as it is now."""
        if self._moment is None:
            self._moment = snapshot(self.game, self.held)
        return self._moment

    def publish(self, frame: int) -> None:
        """Let questions be asked about this moment, if the game goes on."""
        if self.game.playing and not self.game.crashed:
            self.view = View(frame, self.moment(), self.game.run_index, self.applied, self.epoch)
        else:
            self.view = None
        self.wake()

    def next_question(self) -> Decision | None:
        """The question to send now, or None while there is none to ask."""
        view = self.view
        if view is None:
            return None
        if (
            self.inflight > 1
            and self.last_asked is not None
            and view.frame - self.last_asked < self.times.stagger
        ):
            return None
        applied = view.applied
        unapplied = [decision for decision in self.finished if decision.seq > applied]
        pending = unapplied[0] if len(unapplied) == 1 else None
        if self.inflight > 1:
            may_ask = len(unapplied) <= 1
        else:
            fresh = not unapplied and view.frame != self.last_asked
            may_ask = fresh or (pending is not None and self.lockstep is None)
        if not may_ask:
            return None
        if self.premise_rule == "checked" and pending is not None and self._is_void(pending):
            pending = None
        if self.last_asked is not None and view.frame > self.last_asked:
            self.times.ask_gaps.append(view.frame - self.last_asked)
        self.last_asked = view.frame
        self.seq += 1
        self.active.add(self.seq)
        decision = Decision(
            seq=self.seq,
            run=view.run,
            view_frame=view.frame,
            epoch=view.epoch,
            snapshot=view.snapshot,
            timing=self.timing(),
            sent_s=self.clock(),
        )
        if pending is not None:
            decision.pending, decision.pending_seq = pending.executed, pending.seq
            decision.snapshot = view.snapshot.with_pending(pending.executed)
        return decision

    def deliver(self, decision: Decision) -> None:
        """Take a decision whose answer or error has come; it lands with the next `collect`."""
        if decision.answer is not None:
            decision.executed = decision.answer.executed
        self.finished.append(decision)
        self.landing.append(decision)
        self.wake()

    # Landing ----------------------------------------------------------------------------------

    def collect(self, frame: int) -> int:
        """Land every answer that has come, oldest first; returns how many."""
        landed = 0
        while self.landing:
            self._land(self.landing.popleft(), frame)
            landed += 1
        return landed

    def _land(self, decision: Decision, frame: int) -> None:
        game, stats = self.game, self.stats
        self.active.discard(decision.seq)
        self.applied = max(self.applied, decision.seq)
        decision.latency_ms = (self.clock() - decision.sent_s) * 1000
        decision.latency_frames = max(0, frame - decision.view_frame - 1)
        current = decision.run == game.run_index and not game.crashed
        if self.lockstep is None and current:
            self.observe_timing(decision.latency_frames, frame)
        answer = decision.answer
        if answer is None or decision.executed is None:
            stats.errors += 1
            stats.last_error = decision.error
            self._drop(decision, frame, "Answer failed")
            return
        stats.input_tokens += answer.input_tokens
        if not current:
            self._drop(decision, frame, "Previous run answer discarded")
            return
        if not self.premise_holds(decision):
            self._drop(decision, frame, "Late answer discarded")
            return
        action = decision.executed
        if self.guarded:
            action = protect(self.moment(), action)
            if action != decision.executed:
                decision.executed = action
                decision.arrival_intervened = True
                stats.arrival_saves += 1
        self.accepted = decision.seq
        self.accepted_actions[decision.seq] = action
        if len(self.accepted_actions) > ACCEPTED_KEPT:
            # The oldest is also the smallest: an answer is accepted only after those before it.
            del self.accepted_actions[next(iter(self.accepted_actions))]
        saved = decision.arrival_intervened
        self.notices.note(frame, SAVED if saved else TAKEN[action], decision.seq)
        if changes_keys(game.jumping, self.held, action):
            self.epoch += 1
            self.bump_seq = decision.seq
        self.apply(action)
        stats.record(
            decision.latency_ms,
            answer.inference_ms,
            answer.plan_ms,
            answer.robust,
            answer.intervened,
            answer.agreed,
        )
        if self.recorder is not None:
            self.recorder.landed(decision, frame, "Applied")

    def _drop(self, decision: Decision, frame: int, text: str) -> None:
        self.dropped.append(decision.seq)
        self.stats.discarded += 1
        self.notices.note(frame, text, decision.seq)
        if self.recorder is not None:
            self.recorder.landed(decision, frame, text)

    def premise_holds(self, decision: Decision) -> bool:
        """Whether the world is still the one that the question was asked about."""
        pending_seq = decision.pending_seq
        if decision.seq <= self.accepted:
            return False
        if pending_seq is not None and (
            pending_seq in self.dropped
            or self.accepted_actions.get(pending_seq) != decision.pending
        ):
            return False
        if decision.epoch == self.epoch:
            return True
        # One change is fine if it is the one that the question reckoned with.
        return (
            self.epoch == decision.epoch + 1
            and self.bump_seq is not None
            and self.bump_seq == pending_seq
        )

    def _is_void(self, decision: Decision) -> bool:
        """Whether an answer that has come is sure to be discarded when it lands."""
        return decision.executed is None or not self.premise_holds(decision)

    # Keys -------------------------------------------------------------------------------------

    def apply(self, action: Action) -> None:
        """Press what the action says; a jump in the air only lets go of the duck key."""
        game = self.game
        if action == "jump" and not game.jumping:
            if game.ducking:
                game.release_duck()
            game.press_jump()
        self.held = after(action)
        self.last_action = action
        self._moment = None

    def enforce(self) -> None:
        """Make the game's keys what is held, before a frame."""
        game = self.game
        if game.crashed or not game.playing:
            return
        if self.held == "duck":
            if (game.jumping and not game.speed_drop) or (not game.jumping and not game.ducking):
                game.press_duck()
                self._moment = None
        elif game.speed_drop or (not game.jumping and game.ducking):
            game.release_duck()
            self._moment = None

    def emergency(self, frame: int) -> None:
        """Act without an answer where holding the keys would end the run within moments."""
        if not self.guarded or not self.game.playing or self.game.crashed:
            return
        action = protect(self.moment(), self.held)
        if action == self.held:
            return
        self.epoch += 1
        self.bump_seq = None
        self.apply(action)
        self.stats.emergency_saves += 1
        self.notices.note(frame, f"Emergency shield → {action}")

    # Frames -----------------------------------------------------------------------------------

    def step(self) -> None:
        """One frame of the game."""
        self.game.step()
        self._moment = None

    def capture(self, frame: int) -> None:
        """After a frame: keep it for the crash log and note obstacles that are passed."""
        game = self.game
        self._trace.append((frame, game.trex_y, self.held, game.speed, game.score))
        if frame >= self._look_frame:
            self._look_frame = frame + self._note_passed(frame)

    def _note_passed(self, frame: int) -> int:
        """Note what was passed; returns the frames until something else can be passed."""
        game = self.game
        nearest = NEW_OBSTACLE_X - game.trex_x
        for obstacle in self.moment().obstacles:
            if obstacle.id in self._passed:
                continue
            ahead = obstacle.x + obstacle.width - game.trex_x
            if ahead < 0:
                self._passed.add(obstacle.id)
                self.notices.note(frame, "Perfect jump" if game.jumping else "Obstacle cleared")
            else:
                nearest = min(nearest, ahead)
        return max(1, nearest // FASTEST_STEP)

    def record_crash(self, frame: int) -> None:
        """Keep what led to the crash that this frame ended in."""
        self.notices.note(frame, "Crashed — replay")
        self.stats.crash_traces += 1
        since = frame - TRACE_FRAMES
        self.crashes.append(
            Crash(
                frame,
                self.moment(),
                self.timing(),
                tuple(notice for notice in self.notices.log if notice.frame > since),
                tuple(Trace(*frame) for frame in self._trace),
            )
        )

    def reset_run(self) -> None:
        """Forget the run that ended; the four timing estimates stay."""
        self.held = "run"
        self.last_action = "run"
        self.notices.ready()
        self.last_asked = None
        self.epoch += 1
        self.bump_seq = None
        self.since = self.lockstep or 0
        self.waiting = False
        self.times.forget_run()
        self.view = None
        self.finished.clear()
        self._passed.clear()
        self._look_frame = 0
        self._trace.clear()
        self._moment = None


def changes_keys(jumping: bool, held: Held, action: Action) -> bool:
    """Whether taking an action changes what the keys do."""
    if action == "jump":
        return not jumping or held != "run"
    return action != held


def _nothing() -> None:
    pass
