"""What a match asks a System One model: for every armed robot, push, hold or retreat.

All questions of a decision go out in one request, with the match in words as their state; so a
decision costs one round trip, which is in ``decision_ms`` of the result. The plan of the bundled
team strategy carries the answers out. A request that fails is an error of the strategy.
"""

from typing import Any, Final

from sysone.arena.sdk.plans import Push
from sysone.arena.sdk.tactics import SUPPLY, Action, Observation
from sysone.systemone.answers import ChoiceAnswer
from sysone.systemone.client import DEFAULT_MODEL, CLMClient
from sysone.systemone.questions import Choice

STANCES: Final[dict[str, str]] = {
    "push": "It is healthy and has ammunition: advance and attack the enemy.",
    "hold": "It stays where it is and fires at enemies that come near.",
    "retreat": "It is badly hurt or has no ammunition: go back to the supply zone.",
}
TIMEOUT_S: Final = 2.0
"""The runner's budget is stricter; this is for an endpoint that hangs."""


class Asked(Push):
    """Stances come from the model, everything else from the team's plan."""

    def __init__(self) -> None:
        self._client: CLMClient | None = None
        self.stances: dict[str, str] = {}

    def reset(self, info: dict[str, Any]) -> None:
        """Remember the side, and connect to the endpoint of ``info``'s options."""
        super().reset(info)
        self.close()
        options = info["options"]
        self._client = CLMClient(
            options["url"], timeout=TIMEOUT_S, model=options.get("model") or DEFAULT_MODEL
        )

    def act(self, observation: Observation, state: dict[str, Any]) -> Action:
        """Ask for every armed robot, then act."""
        questions = {
            slot: question(me, self._far(me, observation))
            for slot, me in observation["robots"].items()
            if me["alive"] and me["role"] != "aerial" and self.tactics.calibre(me)
        }
        self.stances = {}
        if questions:
            assert self._client is not None
            reply = self._client.system_one(situation(observation), questions)
            for slot, answer in reply.answers.items():
                assert isinstance(answer, ChoiceAnswer)
                self.stances[slot] = answer.choice
        return super().act(observation, state)

    def _far(self, me: dict[str, Any], observation: Observation) -> float | None:
        found = self.tactics.nearest(me, observation)
        return None if found is None else found[0]

    def shooter(self, me: dict[str, Any], observation: Observation, coins: int) -> Action:
        """As the model says."""
        share = coins // 2 if me["role"] == "infantry" else coins
        return self.tactics.shop(me, share, 150, 12) | self._carry_out(me, observation)

    def sentry(self, me: dict[str, Any], observation: Observation) -> Action:
        """As the model says."""
        return self._carry_out(me, observation)

    def _carry_out(self, me: dict[str, Any], observation: Observation) -> Action:
        stance = self.stances[str(me["slot"])]
        move = [0.0, 0.0]
        if stance == "push":
            move = self.tactics.go(me, self.tactics.attack_place(observation, me["slot"]))
        elif stance == "retreat":
            move = self.tactics.go(me, self.tactics.place(SUPPLY, me["slot"]))
        return self.tactics.fight(me, observation) | {"move": move}

    def close(self) -> None:
        """Let go of the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None


def situation(observation: Observation) -> str:
    """The match in words: the state of every question of a decision."""
    own, enemy = (observation["buildings"][side] for side in ("own", "enemy"))
    seen = sum(robot["alive"] for robot in observation["enemies"])
    return (
        f"Robot match, {observation['time']:.0f} seconds played, {observation['remaining']:.0f} "
        f"left. Our base {own['base']['hp']}, our outpost {own['outpost']['hp']}. Enemy base "
        f"{enemy['base']['hp']}, enemy outpost {enemy['outpost']['hp']}. "
        f"{observation['coins']['now']} coins. {seen} enemies are seen."
    )


def question(me: dict[str, Any], far_m: float | None) -> Choice:
    """What a robot should do; ``far_m`` is the distance of the nearest enemy that is known."""
    health = round(100 * me["hp"] / max(me["max_hp"], 1))
    shots = me["ammo_17"] + me["ammo_42"] + me["reserve"]
    near = "no enemy is near" if far_m is None else f"the nearest enemy is {far_m:.0f} m away"
    return Choice(
        criteria=dict(STANCES),
        instructions=(
            f"The {me['role']} has {health} percent health and {shots} shots, {near}. "
            "What should it do now?"
        ),
    )
