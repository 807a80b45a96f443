"""What is played: the command line's options, and what follows from them."""

from dataclasses import dataclass
from pathlib import Path

from sysone.executors import Engine
from sysone.trex.ask import Prompt
from sysone.trex.latency import Latency
from sysone.trex.question import CourseStyle, PremiseRule
from sysone.trex.recording import ClockKind
from sysone.trex.report import Rules, Settings
from sysone.trex.simulate import Conditions
from sysone_core.trex import FPS


@dataclass(frozen=True, slots=True)
class Options:
    """What is played; the command line's options."""

    model: str = "local"
    seeds: int = 5
    seed: int = 0
    duration_s: float = 60.0
    shield: bool = True
    lockstep: int | None = None
    inflight: int = 6
    course_style: CourseStyle = "original"
    prompt: Prompt = "labeled"
    base_url: str | None = None
    """Where the endpoint is; by default as `sysone.systemone.endpoints` says."""
    premise_rule: PremiseRule = "reference"
    baselines: bool = True
    """Whether the same seeds are played without a model, too."""
    record: Path | None = None
    """Where every frame and decision goes."""
    latency: Latency | None = None
    """Of the answers on a simulated clock; None plays in real time."""
    answers: Path | None = None
    """Known answers in virtual time, and a place for new ones; or a recording."""
    new_answers: Path | None = None
    """A place for new ones where ``answers`` is a recording."""
    jobs: int = 1
    """Seeds at a time, in virtual time."""
    engine: Engine = "local"
    """Where they are played."""
    ray_address: str | None = None

    @property
    def clock(self) -> ClockKind:
        """What time is."""
        return "real" if self.latency is None else "virtual"

    @property
    def mode(self) -> str:
        """``realtime``, ``lockstepN``, ``virtual`` or ``virtual_lockstepN``."""
        lockstep = "" if self.lockstep is None else f"lockstep{self.lockstep}"
        if self.latency is None:
            return lockstep or "realtime"
        return f"virtual_{lockstep}" if lockstep else "virtual"

    @property
    def tag(self) -> str:
        """Name of the run in file names and seed lines."""
        return f"{self.model}_{self.mode}" + ("" if self.shield else "_noshield")

    @property
    def frames(self) -> int:
        """Frames of a seed."""
        return int(self.duration_s * FPS)

    @property
    def requests(self) -> int:
        """Requests at a time: one in lockstep."""
        return 1 if self.lockstep is not None else self.inflight

    @property
    def settings(self) -> Settings:
        """For the summary."""
        return Settings(
            mode=self.mode,
            shield=self.shield,
            course_style=self.course_style,
            prompt=self.prompt,
            duration_s=self.duration_s,
            inflight=self.requests,
        )

    @property
    def rules(self) -> Rules:
        """For the results file."""
        return Rules(
            clock=self.clock,
            latency=None if self.latency is None else self.latency.name,
            premise_rule=self.premise_rule,
        )

    @property
    def shared(self) -> bool:
        """Whether seeds are shared out to other processes."""
        return self.jobs > 1 or self.engine != "local"

    def conditions(self, latency: Latency, *, lockstep: bool = False) -> Conditions:
        """For seeds on a simulated clock; the baselines play none in lockstep."""
        return Conditions(
            latency=latency,
            lockstep=self.lockstep if lockstep else None,
            inflight=self.inflight,
            guarded=self.shield,
            course=self.course_style,
            frames=self.frames,
            premise_rule=self.premise_rule,
        )
