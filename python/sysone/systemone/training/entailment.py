"""Yes/no questions made from templates: one word, a negation, a number or the order decides.

Every template writes a state and a question whose answer follows from the state. Each state is
asked both ways, so that no word of the question alone gives the answer away.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sysone.systemone.questions import Noul
from sysone.systemone.training.examples import Example, ExampleError

SECTIONS = ("opposites", "acts", "people", "comparisons", "quantities", "events", "deeds", "limits")


@dataclass
class Words:
    """What the templates are filled with; a pair's second half means the opposite."""

    opposites: list[tuple[list[str], list[str], list[str]]] = field(default_factory=list)
    acts: list[tuple[list[str], list[str], list[str]]] = field(default_factory=list)
    people: list[str] = field(default_factory=list)
    comparisons: list[tuple[str, str]] = field(default_factory=list)
    quantities: list[tuple[str, str, str]] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    deeds: list[list[str]] = field(default_factory=list)
    limits: list[tuple[str, str, str]] = field(default_factory=list)


def read_words(path: Path) -> Words:
    """Read a word list; raises `ExampleError` that names the file and the line."""
    words = Words()
    section = ""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ExampleError(f"{path}: {error.strerror}") from None
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            section = line[1:].partition("]")[0]
            continue
        try:
            _add(words, section, line)
        except ValueError as error:
            raise ExampleError(f"{path}, line {number}: [{section}] {error}") from None
    return words


def is_words(path: Path) -> bool:
    """Whether a file is a word list: it has sections in brackets."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return any(line.startswith("[") and "]" in line for line in lines)


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _add(words: Words, section: str, line: str) -> None:
    if section in ("people", "events"):
        getattr(words, section).extend(_list(line))
    elif section in ("opposites", "acts"):
        pair, things = line.split(" : ")
        one, other = pair.split(" / ")
        getattr(words, section).append((_list(one), _list(other), _list(things)))
    elif section == "deeds":
        base, past, participle = _list(line)
        words.deeds.append([base, past, participle])
    elif section == "limits":
        state, kept, broken = line.split(" | ")
        words.limits.append((state, kept, broken))
    elif section == "comparisons":
        one, other = line.split(" / ")
        words.comparisons.append((one, other))
    elif section == "quantities":
        noun, pair = line.split(" : ")
        one, other = pair.split(" / ")
        words.quantities.append((noun, one, other))
    else:
        raise ValueError(f"expected a section of {', '.join(SECTIONS)}")


# A state, then questions with their answers.
Asked = tuple[str, list[tuple[str, bool]]]


def property_of_thing(words: Words, stream: random.Random) -> Asked:
    """``The soup is hot.`` Is it cold?"""
    pair = list(stream.choice(words.opposites))
    things = pair.pop()
    stream.shuffle(pair)
    same, opposite = pair
    thing, said = stream.choice(things), stream.choice(same)
    frames = (
        f"The {thing} is {said}.",
        f"We noticed that the {thing} is {said}.",
        f"The {thing} has become {said}.",
        f"The {thing} is very {said} today.",
        f"As always, the {thing} was {said}.",
        f"A {said} {thing}.",
        f"Note: {thing} {said}.",
        f"{stream.choice(words.people)} says that the {thing} is quite {said}.",
        f"The {thing} used to be {stream.choice(opposite)}, but now it is {said}.",
        f"The {thing} is no longer {stream.choice(opposite)}.",
        f"The {thing} is anything but {stream.choice(opposite)}.",
    )
    return stream.choice(frames), [
        (_asked_property(stream, thing, stream.choice(same)), True),
        (_asked_property(stream, thing, stream.choice(opposite)), False),
    ]


def _asked_property(stream: random.Random, thing: str, said: str) -> str:
    return stream.choice(
        (
            f"Is the {thing} {said}?",
            f"Is it {said}?",
            f"The {thing} is {said}.",
            f"Would you call the {thing} {said}?",
            f"Does the text describe a {said} {thing}?",
        )
    )


def negated_property(words: Words, stream: random.Random) -> Asked:
    """``The soup is not hot.`` Is it hot? Is it true that it is not hot?"""
    one, other, things = stream.choice(words.opposites)
    said = stream.choice([*one, *other])
    thing = stream.choice(things)
    negative = stream.random() < 0.5
    if negative:
        state = stream.choice(
            (
                f"The {thing} is not {said}.",
                f"The {thing} isn't {said} at all.",
                f"Nobody would call the {thing} {said}.",
                f"The {thing} was never {said}.",
            )
        )
    else:
        state = stream.choice((f"The {thing} is {said}.", f"The {thing} was always {said}."))
    return state, [
        (f"Is the {thing} {said}?", not negative),
        (f"Is it wrong to call the {thing} {said}?", negative),
    ]


def act(words: Words, stream: random.Random) -> Asked:
    """``Anna accepted the offer.`` Did she refuse it?"""
    pair = list(stream.choice(words.acts))
    things = pair.pop()
    stream.shuffle(pair)
    (base, past, participle), (other, _, other_participle) = pair
    who, thing = stream.choice(words.people), stream.choice(things)
    frames = (
        f"{who} {past} {thing}.",
        f"Yesterday {who} {past} {thing}.",
        f"{thing[0].upper()}{thing[1:]} was {participle} by {who}.",
        f"{who} has {participle} {thing}.",
        f"After a long talk {who} {past} {thing}.",
        f"{who} managed to {base} {thing}.",
        f"{who} will {base} {thing}." if stream.random() < 0.2 else f"{who} {past} {thing} again.",
    )
    return stream.choice(frames), [
        (f"Did {who} {base} {thing}?", True)
        if stream.random() < 0.6
        else (f"Was {thing} {participle}?", True),
        (f"Did {who} {other} {thing}?", False)
        if stream.random() < 0.6
        else (f"Was {thing} {other_participle}?", False),
    ]


def act_undone(words: Words, stream: random.Random) -> Asked:
    """``Anna did not accept the offer.`` Did she accept it?"""
    one, other, things = stream.choice(words.acts)
    base, past, participle = stream.choice((one, other))
    who, thing = stream.choice(words.people), stream.choice(things)
    done = stream.random() < 0.5
    frames = (
        (
            f"{who} {past} {thing}.",
            f"In the end {who} {past} {thing}.",
            f"{who} did {base} {thing}.",
        )
        if done
        else (
            f"{who} did not {base} {thing}.",
            f"{who} never {past} {thing}.",
            f"{who} was unable to {base} {thing}.",
            f"{who} decided not to {base} {thing}.",
            f"{who} almost {past} {thing}, but then did not.",
            f"{who} left without having {participle} {thing}.",
        )
    )
    return stream.choice(frames), [
        (f"Did {who} {base} {thing}?", done),
        (f"Is it true that {who} did not {base} {thing}?", not done),
    ]


def comparison(words: Words, stream: random.Random) -> Asked:
    """``Anna is older than Ben.`` Is Ben the older one?"""
    pair = list(stream.choice(words.comparisons))
    stream.shuffle(pair)
    more, less = pair
    one, two = stream.sample(words.people, 2)
    frames = (f"{one} is {more} than {two}.", f"{two} is not as {less} as {one}.")
    state = f"{one} is {more} than {two}." if " " in less else frames[0]
    yes = stream.choice((f"Is {one} {more} than {two}?", f"Is {two} {less} than {one}?"))
    no = stream.choice((f"Is {two} {more} than {one}?", f"Is {one} {less} than {two}?"))
    return state, [(yes, True), (no, False)]


def number(words: Words, stream: random.Random) -> Asked:
    """``The ticket costs 40 euros.`` Is it more than 50?"""
    thing = stream.choice(("ticket", "repair", "meal", "hotel room", "book", "licence"))
    scale = stream.choice((10, 100, 1000))
    value = stream.randint(2, 9) * scale + stream.randint(0, scale - 1)
    above = int(value * stream.uniform(1.15, 4))
    below = max(1, int(value / stream.uniform(1.15, 4)))
    unit, verb, ask = stream.choice(
        (
            ("euros", "costs", "cost"),
            ("grams", "weighs", "weigh"),
            ("days", "takes", "take"),
            ("pages", "fills", "fill"),
        )
    )
    state = f"The {thing} {verb} {value} {unit}."
    yes = stream.choice(
        (
            f"Does it {ask} more than {below} {unit}?",
            f"Does it {ask} less than {above} {unit}?",
            f"Does the {thing} {ask} at least {below} {unit}?",
        )
    )
    no = stream.choice(
        (
            f"Does it {ask} more than {above} {unit}?",
            f"Does it {ask} less than {below} {unit}?",
            f"Does the {thing} {ask} at least {above} {unit}?",
        )
    )
    return state, [(yes, True), (no, False)]


# Quantifier to what it answers: all, most, some, none.
QUANTIFIERS = {
    "All": (True, True, True, False),
    "Nearly all": (False, True, True, False),
    "Most": (False, True, True, False),
    "Only a few": (False, False, True, False),
    "Hardly any": (False, False, True, False),
    "None of the": (False, False, False, True),
}


def quantity(words: Words, stream: random.Random) -> Asked:
    """``Most seats are taken.`` Are all of them taken?"""
    noun, one, _ = stream.choice(words.quantities)
    quantifier = stream.choice(list(QUANTIFIERS))
    verdicts = QUANTIFIERS[quantifier]
    verb, _, rest = one.partition(" ")
    state = f"{quantifier} {noun} {one}."
    asked = [
        (f"Is it true that all {noun} {verb} {rest}?".replace(" ?", "?"), verdicts[0]),
        (
            f"Is it true that more than half of the {noun} {verb} {rest}?".replace(" ?", "?"),
            verdicts[1],
        ),
        (f"Is it true that at least one of the {noun} {one}?", verdicts[2]),
        (f"Is it true that no {noun} {one}?", verdicts[3]),
    ]
    yes = [item for item in asked if item[1]]
    no = [item for item in asked if not item[1]]
    return state, [stream.choice(yes), stream.choice(no)]


def order(words: Words, stream: random.Random) -> Asked:
    """``The bell rang before the train left.`` Which was first?"""
    one, two = stream.sample(words.events, 2)
    state = stream.choice(
        (
            f"{one} before {two}.",
            f"{two} after {one}.",
            f"first {one}, then {two}.",
            f"{one}; an hour later {two}.",
        )
    )
    yes = stream.choice((f"Was it so that {one} before {two}?", f"Did this come first: {one}?"))
    no = stream.choice((f"Was it so that {two} before {one}?", f"Did this come first: {two}?"))
    return state[0].upper() + state[1:], [(yes, True), (no, False)]


def roles(words: Words, stream: random.Random) -> Asked:
    """``Anna invited Ben.`` Did Ben invite Anna?"""
    one, two = stream.sample(words.people, 2)
    base, past, participle = stream.choice(words.deeds)
    state = stream.choice(
        (
            f"{one} {past} {two}.",
            f"{two} was {participle} by {one}.",
            f"Last week {one} {past} {two}.",
            f"It was {one} who {past} {two}.",
        )
    )
    yes = stream.choice((f"Did {one} {base} {two}?", f"Was {two} {participle} by {one}?"))
    no = stream.choice((f"Did {two} {base} {one}?", f"Was {one} {participle} by {two}?"))
    return state, [(yes, True), (no, False)]


def one_of_two(words: Words, stream: random.Random) -> Asked:
    """``Anna accepted the gift but not the offer.`` Did she accept the offer?"""
    one, other, things = stream.choice(words.acts)
    base, past, participle = stream.choice((one, other))
    done, undone = stream.sample(things, 2)
    who = stream.choice(words.people)
    state = stream.choice(
        (
            f"{who} {past} {done} but not {undone}.",
            f"{who} did not {base} {undone}, only {done}.",
            f"Instead of {undone} {who} {past} {done}.",
            f"{who} {past} {done}; {undone} was never {participle}.",
            f"Although {undone} was not {participle}, {who} {past} {done}.",
            f"{who} wanted to {base} {undone}, but {past} {done} instead.",
        )
    )
    yes = stream.choice((f"Did {who} {base} {done}?", f"Was {done} {participle}?"))
    no = stream.choice((f"Did {who} {base} {undone}?", f"Was {undone} {participle}?"))
    return state, [(yes, True), (no, False)]


def exception(words: Words, stream: random.Random) -> Asked:
    """``Everybody but Anna found the key.`` Did Anna find it?"""
    one, other, things = stream.choice(words.acts)
    base, past, _ = stream.choice((one, other))
    thing = stream.choice(things)
    who, else_ = stream.sample(words.people, 2)
    alone = stream.random() < 0.5
    frames = (
        (f"Nobody but {who} {past} {thing}.", f"Only {who} {past} {thing}.")
        if alone
        else (
            f"Everybody except {who} {past} {thing}.",
            f"All of them {past} {thing}, except for {who}.",
            f"Everyone but {who} {past} {thing}.",
        )
    )
    return stream.choice(frames), [
        (f"Did {who} {base} {thing}?", alone),
        (f"Did {else_} {base} {thing}?", not alone),
    ]


def limit(words: Words, stream: random.Random) -> Asked:
    """``The lift carries 8 people and 11 want to get in.`` Can all of them ride?"""
    state, kept, broken = stream.choice(words.limits)
    most, there = stream.sample(range(3, 400), 2)
    return state.format(most=most, there=there), [(kept, there < most), (broken, there > most)]


TEMPLATES: tuple[tuple[float, Callable[[Words, random.Random], Asked]], ...] = (
    (3, property_of_thing),
    (2, negated_property),
    (3, act),
    (2, act_undone),
    (1, comparison),
    (1, number),
    (1, quantity),
    (1, order),
    (3, roles),
    (2, one_of_two),
    (2, exception),
    (1, limit),
)


def entailments(words: Words, count: int, seed: int) -> Iterator[Example]:
    """``count`` states with two questions each, the same for the same seed."""
    stream = random.Random(f"entailment-{seed}")
    weights = [weight for weight, _ in TEMPLATES]
    for _ in range(count):
        template = stream.choices(TEMPLATES, weights)[0][1]
        state, asked = template(words, stream)
        state = state[0].upper() + state[1:]
        for instructions, verdict in asked:
            yield Example(state, Noul(instructions), verdict, group=f"template-{template.__name__}")
