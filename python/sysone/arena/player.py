"""A strategy's process as the match sees it: asked for actions, held to its budget."""

import contextlib
import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from select import select
from time import monotonic
from typing import IO, Any

from sysone.arena import processes
from sysone.arena.engine import HOLD, TEAMS, Setup, Team
from sysone.arena.frames import Channel, ClosedError
from sysone.arena.isolation.base import Isolation, Sandbox
from sysone.arena.sources import Strategy

DEAD_AFTER_S = 5.0
FIRST_ERRORS = 5


class Player:
    """One strategy of a match: a side's (slot 0) or one robot's."""

    def __init__(self, strategy: Strategy, side: Team, slot: int) -> None:
        self.strategy = strategy
        self.side: Team = side
        self.team = TEAMS.index(side)
        self.slot = slot
        self.errors: Counter[str] = Counter()
        self.first_errors: list[dict[str, Any]] = []
        self.waits_ms: list[float] = []
        self.act_ns = 0
        self.host_ns = 0
        self.startup_ms = 0.0
        self.peak_rss_mb = 0
        self.dead = False
        self._outstanding = False
        self._fresh = False
        self._sent_at = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None

    def info(self, setup: Setup, slots: Sequence[int], world: Mapping[str, Any]) -> dict[str, Any]:
        """What the strategy is told of a match; ``world`` has the simulator's part."""
        lineup = setup.lineups[self.side]
        return {
            "team": self.side,
            "season": setup.season,
            "map": f"rmuc{setup.season}",
            "slots": list(slots),
            "models": {str(slot): lineup[slot] for slot in slots},
            "duration": setup.duration_s or world["settings"]["duration_s"],
            "seed_hint": world["seed_hints"][self.team],
            "settings": world["settings"],
            "static": world["static"],
            **({"options": dict(self.strategy.options)} if self.strategy.options else {}),
        }

    def start(
        self,
        info: dict[str, Any],
        log: IO[bytes] | None,
        isolation: Isolation,
        memory_mb: int,
        cpu_s: float,
    ) -> None:
        """Begin the process; `ready` waits for it."""
        self._begun = monotonic()
        sandbox = Sandbox(self.strategy.folder, memory_mb, cpu_s)
        self._process, self._channel = processes.start_strategy(isolation, sandbox, log)
        setup = {
            "folder": isolation.folder or str(self.strategy.folder.resolve()),
            "entry": self.strategy.manifest.strategy.entry,
            "info": info,
        }
        self._setup = json.dumps(setup).encode()

    def ready(self, deadline: float) -> str | None:
        """Wait until the strategy is loaded; why it failed to, or None."""
        return self._ready(deadline, b"S", self._setup)

    @property
    def reusable(self) -> bool:
        """Whether another match can go on in the same process."""
        return self._process is not None and not self.dead and not self._outstanding

    def again(self, info: dict[str, Any], deadline: float) -> str | None:
        """Begin another match in the same process, with nothing left of the one before."""
        self.errors.clear()
        self.first_errors.clear()
        self.waits_ms.clear()
        return self._ready(deadline, b"N", json.dumps(info).encode())

    def _ready(self, deadline: float, kind: bytes, body: bytes) -> str | None:
        channel = self._open()
        try:
            if not channel.send_before(deadline, kind, body):
                return "it did not start in time"
            while (message := channel.pop()) is None:
                left = deadline - monotonic()
                if left <= 0 or not select([channel.reader], [], [], left)[0]:
                    return "it did not start in time"
                channel.fill()
        except ClosedError:
            return "its process ended"
        self.startup_ms = (monotonic() - self._begun) * 1000
        kind, body = message
        return None if kind == b"R" else body.decode(errors="replace")

    def ask(self, observation: bytes, budget_s: float) -> None:
        """Send an observation, unless an answer is still outstanding."""
        self._fresh = False
        if self.dead:
            return
        self._asked = monotonic()
        if not self._outstanding:
            try:
                sent = self._open().send_before(self._asked + budget_s, b"O", observation)
            except ClosedError:
                self._die("crashed", "its process ended")
                return
            if not sent:
                self._die("strategy_dead", "it does not read")
                return
            self._sent_at = self._asked = monotonic()
            self._outstanding = self._fresh = True
        self.deadline = self._asked + budget_s

    @property
    def waiting(self) -> bool:
        """Whether an answer may still come for this decision."""
        return not self.dead and self._outstanding and not self._late()

    def _late(self) -> bool:
        return monotonic() >= self.deadline

    def take(self) -> bytes | None:
        """Read what has come; the action, when it is a whole one for this decision."""
        channel = self._open()
        try:
            channel.fill()
        except ClosedError:
            self._die("crashed", "its process ended")
            return None
        try:
            message = channel.pop()
        except ClosedError:
            self._die("bad_reply", "it wrote on the channel what is no message")
            return None
        if message is None:
            return None
        self._outstanding = False
        if not self._fresh:
            return None  # an answer to an earlier decision
        self.waits_ms.append((monotonic() - self._sent_at) * 1000)
        kind, body = message
        if kind == b"A":
            self.act_ns += int.from_bytes(body[:8], "little")
            self.host_ns += int.from_bytes(body[8:16], "little")
            return body[16:]
        text = body.decode(errors="replace")
        if kind == b"B":
            self.note("bad_reply", text)
        else:
            self.note("memory" if "MemoryError" in text else "exception", text)
        return HOLD

    def overdue(self) -> None:
        """The decision goes on without an answer."""
        if self.dead:
            return
        if self._outstanding and monotonic() - self._sent_at > DEAD_AFTER_S:
            self._die("strategy_dead", f"no answer for {DEAD_AFTER_S:g} s")
            return
        self.note("timeout", "")

    def note(self, code: str, detail: str) -> None:
        """Count an error."""
        self.errors[code] += 1
        if len(self.first_errors) < FIRST_ERRORS:
            self.first_errors.append({"code": code, "detail": detail})

    def _die(self, code: str, detail: str) -> None:
        self.note(code, detail)
        self.dead = True
        if self._process is not None:
            self._process.kill()

    def _open(self) -> Channel:
        assert self._channel is not None
        return self._channel

    @property
    def descriptor(self) -> int:
        """What to wait on."""
        return self._open().reader

    def close(self) -> None:
        """Let the strategy say goodbye, and end its process."""
        if self._process is None:
            return
        with contextlib.suppress(OSError, IndexError, ValueError):
            inner = processes.innermost(self._process.pid)
            status = Path(f"/proc/{inner}/status").read_text()
            for line in status.splitlines():
                if line.startswith("VmHWM"):
                    self.peak_rss_mb = int(line.split()[1]) // 1024
        if not self.dead and not self._outstanding:
            with contextlib.suppress(ClosedError):
                self._open().send_before(monotonic() + 0.1, b"Q")
            processes.stop(self._process)
        else:
            processes.stop(self._process, 0)
        self._open().close()

    def report(self) -> dict[str, Any]:
        """This strategy's part of a result line."""
        waits = sorted(self.waits_ms)

        def at(share: float) -> float:
            return round(waits[min(int(share * len(waits)), len(waits) - 1)], 3) if waits else 0.0

        return {
            **self.strategy.identity(),
            "decisions": len(waits),
            "errors": dict(self.errors),
            "first_errors": self.first_errors,
            "decision_ms": {"p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": at(1)},
            "startup_ms": round(self.startup_ms, 1),
            "peak_rss_mb": self.peak_rss_mb,
        }


def collect(players: Sequence[Player]) -> dict[Player, bytes]:
    """Wait for the answers to one decision, all at once, each within its own budget."""
    actions: dict[Player, bytes] = {}
    while True:
        waiting = [p for p in players if p.waiting]
        if not waiting:
            break
        left = max(0.0, min(p.deadline for p in waiting) - monotonic())
        readable, _, _ = select([p.descriptor for p in waiting], [], [], left)
        for player in waiting:
            if player.descriptor in readable:
                action = player.take()
                if action is not None:
                    actions[player] = action
    for player in players:
        if player not in actions and not player.dead:
            player.overdue()
    return actions
