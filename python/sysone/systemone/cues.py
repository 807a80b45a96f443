"""What is read off a state's and a statement's words themselves: small words that decide.

Sentence encoders see what a text is about better than whether it says so. Negations, quantifiers,
numbers, and who did what to whom are found here by rule and given to the reader beside the
encoder's vectors.
"""

import re
from typing import NamedTuple

from sysone.runs.sums import in_order

NEGATIONS = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|hardly|cannot|nowhere"
    r"|instead of|rather than|far from|apart from|except(?: for)?|unable|refus\w+|declin\w+"
    r"|fail(?:s|ed)? to|stopped|too \w+ to|wrong|lack\w*|empty|missing|ran out|run out|sold out"
    r"|free of|rid of|\w+less)\b|n't\b",
    re.IGNORECASE,
)
CLAUSES = re.compile(
    r"[;:,.!?]|\b(?:but|while|whereas|although|though|yet|and|because|so that|only)\b",
    re.IGNORECASE,
)
NUMBERS = re.compile(r"\d[\d,]*\.?\d*")
_COUNTED = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS = {word: float(number) for number, word in enumerate(_COUNTED.split())}
MORE = re.compile(
    r"\b(?:more than|over|above|at least|exceed|minimum|longer than|older than)\b", re.IGNORECASE
)
LESS = re.compile(
    r"\b(?:less than|fewer than|under|below|at most|up to|within|younger than)\b", re.IGNORECASE
)
PASSIVE = re.compile(r"\b(?:was|were|is|are|been|being|be)\b[^,;.]{0,200}\bby\b", re.IGNORECASE)
BACKWARDS = re.compile(r"\b(?:after|behind|later than|following)\b", re.IGNORECASE)
QUANTIFIERS = (
    re.compile(r"\b(?:all|every\w*|each|always|both|whole|entire\w*)\b", re.IGNORECASE),
    re.compile(r"\b(?:most|mostly|nearly|almost|usually|majority|half)\b", re.IGNORECASE),
    re.compile(r"\b(?:some|several|sometimes|a few|any\w*|one of)\b", re.IGNORECASE),
    re.compile(r"\b(?:few|hardly|seldom|rarely|little|barely)\b", re.IGNORECASE),
    re.compile(r"\b(?:none|nobody|nothing|neither|never|no)\b", re.IGNORECASE),
    re.compile(r"\b(?:only|except|but|apart from|alone)\b", re.IGNORECASE),
)

# About what the encoder reads of a text; rules over megabytes would take seconds.
LONGEST_TEXT = 2048

# Digits beyond a double's range are no quantity that somebody compares.
LONGEST_NUMBER = 18

WORDS = re.compile(r"[^\W_]+(?:['’]t)?")
NAMES = re.compile(r"\b[A-Z]\w+")
_SMALL = """
a an the this that these those it its he she they them his her their we us our i you your me my
is are was were be been being am do does did done has have had having will would can could may
might must shall should not no of in on at to from by with for into onto over under out up down
as than then so too very still already yet now just there here and or but if because while when
who whom which what whose true text say said about again any some all every each right describe
call it's isn't wasn't don't doesn't didn't
"""
SMALL_WORDS = frozenset(_SMALL.split())
_PAST = """
gave=give given=give took=take taken=take won=win lost=lose left=leave fell=fall fallen=fall
bought=buy sold=sell found=find broke=break broken=break sent=send lent=lend kept=keep held=hold
made=make went=go gone=go came=come saw=see seen=see ate=eat eaten=eat drank=drink drove=drive
rode=ride wrote=write written=write spoke=speak spoken=speak told=tell thought=think caught=catch
taught=teach fought=fight brought=bring built=build burnt=burn paid=pay met=meet led=lead ran=run
sang=sing sank=sink swam=swim began=begin stood=stand understood=understand slept=sleep felt=feel
knew=know known=know grew=grow flew=fly threw=throw chose=choose stole=steal hid=hide hidden=hide
bit=bite bitten=bite beat=beat shot=shoot wore=wear forgot=forget forgotten=forget rose=rise
froze=freeze frozen=freeze shut=shut
"""
IRREGULAR = dict(pair.split("=") for pair in _PAST.split())
ENDINGS = ("ing", "ed", "es", "s", "er", "ly")
SHORTEST_STEM = 3
LONGEST_STEM = 6


class Signs(NamedTuple):
    """Cues of a pair of texts; all between -1 and 1."""

    state: float
    """1, or -1 for an odd number of negations in the state."""
    statement: float
    """The same of the statement."""
    clause: float
    """The same of the state's clause that shares most words with the statement."""
    order: float
    """Whether shared words come in the same order (1) or reversed (-1); a passive voice or an
    "after" in one of the texts alone turns it."""
    number: float
    """Whether the state's numbers are on the side that the statement names."""
    first: float
    """Whether the first of the state's numbers is greater (1) or smaller (-1) than the second."""
    same_numbers: float
    """Share of the statement's numbers that the state has; -1 if it has none of them."""
    covered: float
    """Share of the statement's content words that the state has."""
    all_in_state: float
    most_in_state: float
    some_in_state: float
    few_in_state: float
    none_in_state: float
    only_in_state: float
    all_in_statement: float
    most_in_statement: float
    some_in_statement: float
    few_in_statement: float
    none_in_statement: float
    only_in_statement: float


def signs(state: str, statement: str) -> Signs:
    """The cues of a pair of texts: of a state's end and a statement's beginning."""
    state, statement = state[-LONGEST_TEXT:], statement[:LONGEST_TEXT]
    said, asked = _stems(state), _stems(statement)
    return Signs(
        _parity(state),
        _parity(statement),
        _clause(state, asked),
        _order(state, statement, said, asked),
        _number(state, statement),
        _first(state),
        _same_numbers(state, statement),
        sum(word in said for word in asked) / len(asked) if asked else 0.0,
        *(float(bool(words.search(state))) for words in QUANTIFIERS),
        *(float(bool(words.search(statement))) for words in QUANTIFIERS),
    )


def _parity(text: str) -> float:
    return -1.0 if len(NEGATIONS.findall(text)) % 2 else 1.0


def _stems(text: str) -> list[str]:
    return [_stem(word) for word in WORDS.findall(text.lower()) if word not in SMALL_WORDS]


def _stem(word: str) -> str:
    word = IRREGULAR.get(word, word)
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            word = word.removesuffix(ending)
            break
    # After the ending: "stopped" and "stop", "giving" and "give".
    if len(word) > SHORTEST_STEM and word[-1] == word[-2]:
        word = word[:-1]
    return word.removesuffix("e")[:LONGEST_STEM]


def _clause(state: str, asked: list[str]) -> float:
    """The mean parity of the clauses that share most with the statement."""
    clauses = [clause for clause in CLAUSES.split(state) if clause and clause.strip()]
    words = [set(_stems(clause)) for clause in clauses]
    # A word that every clause has tells none from the other; the object, which comes last, tells
    # more than the verb, which the second clause often leaves out.
    weights = [
        in_order(
            (1 + place / len(asked)) / sum(word in other for other in words)
            for place, word in enumerate(asked)
            if word in own
        )
        for own in words
    ]
    if not any(weights):
        return _parity(state)
    best = [
        _parity(clause)
        for clause, weight in zip(clauses, weights, strict=True)
        if weight > max(weights) - 1e-6
    ]
    return sum(best) / len(best)


def _order(state: str, statement: str, said: list[str], asked: list[str]) -> float:
    shared = [word for word in dict.fromkeys(asked) if word in said]
    names = {_stem(word.lower()) for word in NAMES.findall(statement)}
    named = [word for word in shared if word in names]
    # Names tell who did what to whom; a verb between them stays where it is.
    places = [said.index(word) for word in (named if len(named) > 1 else shared)]
    pairs = [(one < two) for i, one in enumerate(places) for two in places[i + 1 :]]
    if not pairs:
        return 0.0
    found = 2 * sum(pairs) / len(pairs) - 1
    for turns in (PASSIVE, BACKWARDS):
        if bool(turns.search(state)) != bool(turns.search(statement)):
            found = -found
    return found


def _numbers(text: str) -> list[float]:
    digits = [
        float(found.replace(",", ""))
        for found in NUMBERS.findall(text)
        if len(found) <= LONGEST_NUMBER
    ]
    return digits + [
        NUMBER_WORDS[word] for word in WORDS.findall(text.lower()) if word in NUMBER_WORDS
    ]


def _number(state: str, statement: str) -> float:
    direction = 1.0 if MORE.search(statement) else -1.0 if LESS.search(statement) else 0.0
    if not direction:
        return 0.0
    have, asked = _numbers(state), _numbers(statement)
    if not have or not asked:
        return 0.0
    sides = [(number > asked[0]) - (number < asked[0]) for number in have]
    return direction * sum(sides) / len(sides)


def _first(state: str) -> float:
    one, other = (*_numbers(state)[:2], 0.0, 0.0)[:2]
    return float((one > other) - (one < other)) if len(_numbers(state)) > 1 else 0.0


def _same_numbers(state: str, statement: str) -> float:
    have, asked = set(_numbers(state)), _numbers(statement)
    if not asked:
        return 0.0
    shared = sum(number in have for number in asked)
    return shared / len(asked) if shared else -1.0
