"""The strategy that drives the other side of an environment, in a process of its own."""

from time import monotonic
from typing import Any

from sysone.arena.engine import HOLD, Game, static
from sysone.arena.envs.options import EnvPlan
from sysone.arena.errors import ArenaError
from sysone.arena.isolation import Isolation, choose
from sysone.arena.isolation.base import TrustedLocal
from sysone.arena.player import Player, collect

# Of processor time, over all matches of an environment: hangs are ended by the decision's budget.
CPU_S = 10_000_000.0
SMALLEST_MEMORY_MB = 512


def isolation_for(plan: EnvPlan) -> Isolation:
    """What holds the opponent.

    Raises:
        UnavailableError: what is asked for does not work here.
    """
    options = plan.options
    return choose("none" if options.trusted_local else options.isolation, options.docker_image)


class Opponent:
    """Asked at every decision, under its own budget; its process lives on over matches."""

    def __init__(self, plan: EnvPlan, isolation: Isolation) -> None:
        assert plan.opponent is not None
        self._plan = plan
        # The package's own asks an endpoint, and needs the network.
        self._isolation = TrustedLocal() if plan.opponent.source == "systemone" else isolation
        self._player = self._fresh()

    def _fresh(self) -> Player:
        assert self._plan.opponent is not None
        return Player(self._plan.opponent, self._plan.other, 0)

    @property
    def errors(self) -> dict[str, int]:
        """Errors by code since the match began."""
        return dict(self._player.errors)

    def begin(self, game: Game) -> None:
        """Get ready for a match.

        Raises:
            ArenaError: the strategy does not start.
        """
        options = self._plan.options
        world = {
            "settings": game.book.settings,
            "static": static(game.book),
            "seed_hints": [game.core.seed_hint(team) for team in (0, 1)],
        }
        slots = sorted(game.setup.lineups[self._plan.other])
        deadline = monotonic() + options.startup_timeout
        if self._player.reusable:
            info = self._player.info(game.setup, slots, world)
            if self._player.again(info, deadline) is None:
                return
            deadline = monotonic() + options.startup_timeout
        self._player.close()
        self._player = self._fresh()
        wish = self._player.strategy.manifest.limits.memory_mb
        memory_mb = min(options.memory_mb, max(wish, SMALLEST_MEMORY_MB))
        info = self._player.info(game.setup, slots, world)
        self._player.start(info, None, self._isolation, memory_mb, CPU_S)
        problem = self._player.ready(deadline)
        if problem is not None:
            raise ArenaError("startup", f"opponent {self._player.strategy.key}: {problem}")

    def decide(self, game: Game) -> tuple[bytes, str | None]:
        """The action for the coming decision, already given, and why it holds instead, if so."""
        player = self._player
        before = sum(player.errors.values())
        player.ask(game.observe(self._plan.other), self._plan.options.timeout)
        action = collect([player]).get(player, HOLD)
        refused = game.act(self._plan.other, action)
        if refused is not None:
            player.note(refused.code, refused.path)
        if sum(player.errors.values()) == before:
            return action, None
        return HOLD, player.first_errors[-1]["code"] if refused is None else refused.code

    def close(self) -> None:
        """End the process."""
        self._player.close()

    def report(self) -> dict[str, Any]:
        """How replays name it."""
        return self._player.strategy.identity()
