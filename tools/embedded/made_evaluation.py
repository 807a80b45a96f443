"""Questions from templates, for measuring alone.

    python tools/embedded/made_evaluation.py data/systemone/evaluation/made.jsonl

Templates, words, names and things are none of those that any training uses. Nouls are asked both
ways about each state; the right option of a choice stands anywhere.
"""

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from sysone.runs.atomic import write_bytes
from sysone.systemone.questions import Choice, Noul, Question, Score
from sysone.systemone.training.examples import Example

STATES = 560
"""Of nouls, with two questions each."""
CHOICES = 420
SCORES = 900
SEED = 43

NAMES = (
    "Ottilie", "Bartholomew", "Zenobia", "Caspian", "Philippa", "Ignatius",
    "Rosalind", "Thaddeus", "Wilhelmina", "Leopold", "Seraphina", "Cornelius",
)  # fmt: skip
RELICS = (
    "amulet", "astrolabe", "lute", "parchment", "goblet", "sabre",
    "lantern", "hourglass", "saddle", "cloak", "compass", "quiver",
)  # fmt: skip
PLACES = (
    "in the crypt", "in the belfry", "on the quay", "under the drawbridge", "in the scriptorium",
    "behind the altar", "in the stable loft", "on the upper deck", "in the armoury",
)  # fmt: skip
VESSELS = (
    ("cask", "litres", 40, 220), ("cistern", "buckets", 60, 400), ("hold", "tonnes", 80, 900),
    ("granary", "sacks", 50, 600), ("dovecote", "pigeons", 20, 120), ("corral", "mules", 10, 60),
)  # fmt: skip
FOUNDED = (
    "abbey", "observatory", "mint", "lighthouse", "hospice", "citadel", "botanical garden",
    "shipyard", "opera", "aqueduct",
)  # fmt: skip
# People of a kind, what one of them is called, what they did, and the same for a question.
CREWS = (
    ("oarsmen", "helmsman", "fell ill", "fall ill"),
    ("monks", "prior", "took the vow", "take the vow"),
    ("archers", "captain of the archers", "fled", "flee"),
    ("pilgrims", "innkeeper", "crossed the pass", "cross the pass"),
    ("acrobats", "clown", "received applause", "receive applause"),
    ("whalers", "cabin boy", "went ashore", "go ashore"),
)
# A thing, a word and one that means the same, a word and one that mean the opposite.
CONTRASTS = (
    ("field", "fertile", "fruitful", "barren", "infertile"),
    ("vassal", "loyal", "faithful", "treacherous", "disloyal"),
    ("falcon", "tame", "domesticated", "wild", "untamed"),
    ("flour", "coarse", "gritty", "fine", "powdery"),
    ("merchant", "solvent", "able to pay", "bankrupt", "insolvent"),
    ("throne", "vacant", "unoccupied", "occupied", "taken"),
    ("seam of coal", "rich", "plentiful", "exhausted", "used up"),
    ("harbour", "sheltered", "protected", "exposed", "unprotected"),
    ("abbess", "lenient", "merciful", "severe", "harsh"),
    ("fuse", "damp", "moist", "dusty", "bone-dry"),
    ("sword", "rusty", "corroded", "gleaming", "shiny"),
    ("prince", "reckless", "careless", "cautious", "careful"),
    ("spring", "bubbling", "flowing", "run dry", "dried up"),
    ("prophecy", "vague", "unclear", "precise", "exact"),
    ("moat", "drained", "without water", "flooded", "under water"),
    ("envoy", "modest", "humble", "arrogant", "haughty"),
)


def _noul_handed(stream: random.Random) -> tuple[str, list[tuple[str, bool]]]:
    giver, taker = stream.sample(NAMES, 2)
    relic = stream.choice(RELICS)
    state = stream.choice(
        (
            f"{giver} has passed the {relic} on to {taker}.",
            f"The {relic}, once {giver}'s, went to {taker} for good.",
            f"{taker} was given the {relic} by {giver}.",
        )
    )
    return state, [
        (f"Does {taker} have the {relic} now?", True),
        (f"Does {giver} still have the {relic}?", False),
    ]


def _noul_place(stream: random.Random) -> tuple[str, list[tuple[str, bool]]]:
    relic = stream.choice(RELICS)
    here, there = stream.sample(PLACES, 2)
    state = stream.choice(
        (
            f"One finds the {relic} {here}, no longer {there}.",
            f"Instead of {there}, the {relic} now lies {here}.",
        )
    )
    return state, [(f"Is the {relic} {here}?", True), (f"Is the {relic} {there}?", False)]


def _noul_room(stream: random.Random) -> tuple[str, list[tuple[str, bool]]]:
    vessel, unit, low, high = stream.choice(VESSELS)
    room = stream.randint(low, high)
    fits = stream.random() < 0.5
    load = stream.randint(low // 2, room - 1) if fits else stream.randint(room + 1, 2 * high)
    state = f"The {vessel} has room for {room} {unit}; {load} {unit} have been ordered."
    return state, [
        (f"Does everything that was ordered fit into the {vessel}?", fits),
        (f"Is the {vessel} too small for what was ordered?", not fits),
    ]


def _noul_founded(stream: random.Random) -> tuple[str, list[tuple[str, bool]]]:
    old, new = stream.sample(FOUNDED, 2)
    first = stream.randint(1150, 1700)
    second = first + stream.randint(5, 150)
    state = f"Our {new} dates from {second}, our {old} from {first}."
    if stream.random() < 0.5:
        state = f"Our {old} dates from {first}, our {new} from {second}."
    return state, [
        (f"Did the {old} exist before the {new}?", True),
        (f"Did the {new} exist before the {old}?", False),
    ]


def _noul_apart_from(stream: random.Random) -> tuple[str, list[tuple[str, bool]]]:
    people, one, did, do = stream.choice(CREWS)
    if stream.random() < 0.5:
        state = f"Apart from the {one}, all of the {people} {did}."
        return state, [(f"Did the {people} {do}?", True), (f"Did the {one} {do}?", False)]
    state = f"Of the {people} not a single one {did}, only the {one}."
    return state, [(f"Did the {one} {do}?", True), (f"Did the {people} {do}?", False)]


def _noul_contrast(stream: random.Random) -> tuple[str, list[tuple[str, bool]]]:
    thing, one, like, other, unlike = stream.choice(CONTRASTS)
    if stream.random() < 0.5:
        one, like, other, unlike = other, unlike, one, like
    state = stream.choice(
        (
            f"They found the {thing} {one}.",
            f"According to the chronicle the {thing} was {one} that year.",
            f"Far from being {other}, the {thing} turned out {one}.",
        )
    )
    return state, [(f"Was the {thing} {like}?", True), (f"Was the {thing} {unlike}?", False)]


NOULS: tuple[Callable[[random.Random], tuple[str, list[tuple[str, bool]]]], ...] = (
    _noul_contrast, _noul_contrast, _noul_handed, _noul_place, _noul_room, _noul_founded,
    _noul_apart_from,
)  # fmt: skip

# What a guild deals with, none of it named after the guild.
GUILDS = {
    "coopers": ("Makers of barrels", ("a leaking cask", "bent staves", "a tun for the new wine")),
    "farriers": ("Shoe horses", ("a mare that limps", "a lost horseshoe", "a cracked hoof")),
    "chandlers": ("Make candles", ("wax for the altar", "a burnt-down taper", "wicks and tallow")),
    "fletchers": (
        "Make arrows",
        ("goose feathers for shafts", "an empty quiver", "crooked shafts"),
    ),
    "masons": ("Build with stone", ("a cracked buttress", "a keystone", "mortar for the arch")),
    "vintners": ("Sell wine", ("a sour claret", "two hundred bottles", "the price of Burgundy")),
    "dyers": (
        "Colour cloth",
        ("a faded scarlet robe", "indigo and madder", "yarn to be made blue"),
    ),
    "bookbinders": ("Put books together", ("loose pages", "a torn spine", "vellum for a cover")),
    "apothecaries": (
        "Sell remedies",
        ("a salve for burns", "drops against gout", "a bitter syrup"),
    ),
    "clockmakers": ("Build timepieces", ("a stopped pendulum", "a broken mainspring", "a dial")),
}
GUILD_STATES = (
    "A messenger came about {thing}.",
    "Complaint of the day: {thing}.",
    "The steward's list names {thing}.",
)

GAUGES = (
    ("The tide gauge stands at {n} centimetres.", "centimetres"),
    ("The barometer has fallen by {n} points.", "points"),
    ("The scout counted {n} tents.", "tents"),
    ("The assayer found {n} grains of silver.", "grains"),
)


def _choice_guild(stream: random.Random) -> tuple[str, str, dict[str, str | None], str]:
    some = stream.sample(list(GUILDS), stream.randint(3, 5))
    right = some[0]
    thing = stream.choice(GUILDS[right][1])
    described = stream.random() < 0.5
    options = {name: GUILDS[name][0] if described else None for name in some}
    return (
        stream.choice(GUILD_STATES).format(thing=thing),
        "Which guild is asked for?",
        options,
        right,
    )


def _choice_contrast(stream: random.Random) -> tuple[str, str, dict[str, str | None], str]:
    thing, one, like, other, unlike = stream.choice(CONTRASTS)
    sides = {"first": like, "second": unlike}
    right = stream.choice(list(sides))
    said = one if right == "first" else other
    options = {name: f"The {thing} is {word}" for name, word in sides.items()}
    options["open"] = f"Nothing is said about the {thing}"
    state = f"The witness insists: this {thing} is {said}."
    return state, "What does the witness claim?", {**options}, right


def _choice_span(stream: random.Random) -> tuple[str, str, dict[str, str | None], str]:
    text, unit = stream.choice(GAUGES)
    low = stream.randint(2, 8) * 10
    high = low + stream.randint(3, 9) * 10
    right = stream.choice(("under", "within", "over"))
    spans = {"under": (1, low - 1), "within": (low, high), "over": (high + 1, 3 * high)}
    options: dict[str, str | None] = {
        "under": f"Fewer than {low} {unit}",
        "within": f"Between {low} and {high} {unit}",
        "over": f"More than {high} {unit}",
    }
    return (
        text.format(n=stream.randint(*spans[right])),
        "Which entry of the log is right?",
        options,
        right,
    )


def _choice_holder(stream: random.Random) -> tuple[str, str, dict[str, str | None], str]:
    one, two, three = stream.sample(NAMES, 3)
    first, second, third = stream.sample(RELICS, 3)
    state = f"{one} carries the {first}, {two} the {second} and {three} the {third}."
    options: dict[str, str | None] = {
        name: f"{name} carries the {relic}"
        for name, relic in ((one, first), (two, third), (three, second))
    }
    return state, "Which of these is so?", options, one


CHOICES_OF = (_choice_guild, _choice_contrast, _choice_span, _choice_holder)

# Scales with three ways to say each level in a state; the levels themselves are worded otherwise.
SCALES: tuple[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], ...] = (
    (
        "How badly did the siege go for the town?",
        (
            ("the town was spared", ("Not an arrow came over the wall.", "The army marched past.")),
            ("some damage", ("Two roofs burned before help came.", "A tower lost its top.")),
            ("heavy losses", ("Half the streets lie in ashes.", "Every second house mourns.")),
            ("razed", ("Not one stone stands upon another.", "Grass grows where it stood.")),
        ),
    ),
    (
        "How cold was the crossing?",
        (
            ("hot", ("The pitch melted in the seams.", "We slept on deck without a shirt.")),
            ("pleasant", ("A light coat was all one needed.", "Spring air all the way.")),
            ("cold", ("We wore every jersey we had.", "Breath hung white over the oars.")),
            ("deadly frost", ("Two men froze at the helm.", "The spray turned to ice on us.")),
        ),
    ),
    (
        "How well is the pupil prepared for the examination?",
        (
            ("not at all", ("He has not opened the book.", "She asked what subject it was.")),
            ("poorly", ("He knows the first chapter.", "She guesses more than she knows.")),
            ("well", ("He answers most of it without a pause.", "She made two slips in forty.")),
            ("perfectly", ("He could teach it.", "She knows each line by heart.")),
        ),
    ),
    (
        "How far did the rumour spread?",
        (
            ("nobody heard it", ("He took it to his grave.", "It never left the confessional.")),
            ("a few people", ("Only the two sisters knew.", "It was whispered at one table.")),
            ("the whole village", ("At the well they spoke of nothing else.", "Even the miller.")),
            ("the whole empire", ("From sea to sea it was sung.", "Each province had it.")),
        ),
    ),
    (
        "How sharp is the frontier guard's attention?",
        (
            ("asleep", ("He snores against his spear.", "Eyes shut, chin on his chest.")),
            ("distracted", ("He plays dice with the carter.", "He hums and counts clouds.")),
            ("watchful", ("He looks up at every step.", "Nothing on the road escapes him.")),
        ),
    ),
    (
        "How bitter is the brew?",
        (
            ("sweet", ("It tastes of honey.", "Children ask for more of it.")),
            ("mild", ("One hardly notices the herbs.", "A faint taste of hops.")),
            ("bitter", ("It pulls the mouth together.", "Like chewing a walnut shell.")),
        ),
    ),
)
PARTS = ("none of it", "a quarter of it", "one half of it", "three quarters of it", "all of it")
WHOLES = (
    ("How much of the tapestry is woven?", "{k} of the {n} panels have left the loom."),
    ("How much of the ransom is paid?", "{k} of the {n} chests of silver were handed over."),
    ("How much of the canal is dug?", "The diggers have put {k} of {n} furlongs behind them."),
)


def _score_scale(stream: random.Random) -> tuple[str, str, list[str], int]:
    instructions, levels = stream.choice(SCALES)
    right = stream.randrange(len(levels))
    return (
        stream.choice(levels[right][1]),
        instructions,
        [level for level, _ in levels],
        right,
    )


def _score_part(stream: random.Random) -> tuple[str, str, list[str], int]:
    instructions, text = stream.choice(WHOLES)
    right = stream.randrange(5)
    whole = 4 * stream.randint(2, 24)
    return text.format(k=whole * right // 4, n=whole), instructions, list(PARTS), right


def made() -> Iterator[Example]:
    """All questions, the same each time."""
    stream = random.Random(SEED)
    seen: set[tuple[str, str]] = set()

    def new(state: str, question: Question, answer: str | int | bool, group: str) -> list[Example]:
        if (state, group) in seen:
            return []
        seen.add((state, group))
        return [Example(state, question, answer, group=group)]

    for index in range(STATES):
        state, asked = NOULS[index % len(NOULS)](stream)
        if (state, "noul-made") not in seen:
            seen.add((state, "noul-made"))
            for instructions, verdict in asked:
                yield Example(state, Noul(instructions), verdict, group="noul-made")
    for index in range(CHOICES):
        state, instructions, options, right = CHOICES_OF[index % len(CHOICES_OF)](stream)
        names = list(options)
        stream.shuffle(names)
        question = Choice({name: options[name] for name in names}, instructions)
        yield from new(state, question, right, "choice-made")
    for index in range(SCORES):
        make = _score_part if index % 3 == 0 else _score_scale
        state, instructions, levels, level = make(stream)
        yield from new(state, Score(list(levels), instructions), level, "score-made")


if __name__ == "__main__":
    lines = [msgspec.json.encode(example) + b"\n" for example in made()]
    write_bytes(Path(sys.argv[1]), b"".join(lines))
    print(f"{len(lines)} questions")
