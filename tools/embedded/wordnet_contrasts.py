"""Pairs of a state and a statement that differ in one word, from WordNet's examples.

    python tools/embedded/wordnet_contrasts.py FOLDER data/systemone/vocabulary/contrasts.tsv.gz

FOLDER holds WordNet 3.0's data.adj, data.adv, data.noun and data.verb (of Debian's wordnet-base:
/usr/share/wordnet). Of a sense that has an antonym each example becomes a state; the statement
has the word itself or a synonym (true), or an antonym (false). Half of the statements are true.
Words that the made evaluation turns on are left out.
"""

import gzip
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from made_evaluation import CONTRASTS
from tokenizers import Tokenizer

from sysone.runs.atomic import write_bytes
from sysone.systemone.encoder import DATA

SEED = 0
LONGEST = 16
"""Words of an example; longer ones are mostly quotations."""

FRAMES = (
    "Is it true that {0}?",
    "{1}?",
    "Does the text say: {0}?",
    "{1}.",
    "Is this so: {0}?",
    "Would it be right to say: {0}?",
)
PHRASE = re.compile(r"^(?:a|an|the|his|her|some|very)?\s*(\w[\w-]*) (\w+)$")
ARTICLE = re.compile(r"\b([Aa])n? (?=(\w))")

Place = tuple[str, str]
"""File and offset of a sense."""


@dataclass(frozen=True)
class Sense:
    """One line of a data file: its words, its examples, and where its pointers lead."""

    words: list[str]
    examples: list[str]
    antonyms: list[tuple[Place, int]]
    """Sense, and which of its words."""
    similar: list[Place]


def read(folder: Path) -> dict[Place, Sense]:
    """Every sense of the four files; the format is that of wndb(5WN)."""
    senses = {}
    for kind, name in (("n", "noun"), ("v", "verb"), ("a", "adj"), ("r", "adv")):
        for line in (folder / f"data.{name}").read_text(encoding="latin-1").splitlines():
            if line.startswith("  "):
                continue
            data, _, gloss = line.partition(" | ")
            fields = data.split(" ")
            count = int(fields[3], 16)
            words = [
                re.sub(r"\((?:a|p|ip)\)$", "", word).replace("_", " ")
                for word in fields[4 : 4 + 2 * count : 2]
            ]
            at = 4 + 2 * count
            pointers = [
                fields[at + 1 + 4 * index : at + 5 + 4 * index] for index in range(int(fields[at]))
            ]
            senses[kind, fields[0]] = Sense(
                words,
                [example.strip() for example in re.findall(r'"([^"]+)"', gloss)],
                [
                    ((_file(part), offset), int(words_of[2:], 16) - 1)
                    for symbol, offset, part, words_of in pointers
                    if symbol == "!"
                ],
                [(_file(p), offset) for symbol, offset, p, _ in pointers if symbol == "&"],
            )
    return senses


def _file(part: str) -> str:
    return "a" if part == "s" else part


def opposites(sense: Sense, senses: dict[Place, Sense]) -> list[str]:
    """Antonyms of a sense, or of the senses that it is a shade of, in their order."""
    found = []
    for place, word in sense.antonyms:
        others = senses[place].words
        found.append(others[word])
        found += [other for other in others if other != others[word]][:1]
    for head in sense.similar:
        found += [senses[place].words[word] for place, word in senses[head].antonyms]
    return list(dict.fromkeys(found))


def capital(text: str) -> str:
    """With a capital first letter."""
    return text[0].upper() + text[1:]


def exchanged(text: str, word: str, other: str) -> str:
    """The text with one word for another and its article put right."""
    changed = re.sub(rf"\b{re.escape(word)}\b", other, text, count=1)
    return ARTICLE.sub(
        lambda m: m[1] + ("n " if m[2].lower() in "aeiou" else " "),
        changed,
    )


Triple = tuple[str, str, bool]


def pairs(senses: dict[Place, Sense], common: set[str]) -> Iterator[Triple]:
    """States and statements, and whether they agree; the same each time."""
    stream = random.Random(SEED)
    held_out = {word for _, *words in CONTRASTS for word in words}
    for sense in senses.values():
        against = [word for word in opposites(sense, senses) if word in common]
        if not against or held_out & {*sense.words, *against}:
            continue
        for example in sense.examples:
            word = next(
                (w for w in sense.words if re.search(rf"\b{re.escape(w)}\b", example)), None
            )
            if word is None or len(example.split()) > LONGEST:
                continue
            alike = [other for other in sense.words if other != word and other in common]
            like = stream.choice(alike) if alike and stream.random() < 0.7 else word
            yield from _asked(stream, example, word, like, stream.choice(against))


def _asked(
    stream: random.Random, example: str, word: str, like: str, unlike: str
) -> Iterator[Triple]:
    state = capital(example) if stream.random() < 0.5 else example
    phrase = PHRASE.match(example)
    if phrase and phrase[1] == word and stream.random() < 0.7:
        noun = phrase[2]
        be, it = ("are", "they") if noun.endswith("s") else ("is", "it")
        was = "were" if be == "are" else "was"

        def ask(said: str) -> str:
            return stream.choice(
                (
                    f"{capital(be)} the {noun} {said}?",
                    f"The {noun} {be} {said}.",
                    f"Would you call the {noun} {said}?",
                    f"{capital(be)} {it} {said}?",
                )
            )

        state = stream.choice(
            (
                f"The {noun} {be} {word}.",
                f"The {noun} {was} {word}.",
                f"{capital(example)}.",
                f"It was {example}.",
            )
        )
        true, false = ask(like), ask(unlike)
        if stream.random() < 0.3:
            plain = f"The {noun} {be} {word}."
            denial = stream.choice(
                (
                    f"The {noun} {be} not {word}.",
                    f"The {noun} {be} never {word}.",
                    f"The {noun} {be} no longer {word}.",
                    f"Nobody would call the {noun} {word}.",
                )
            )
            yield denial, ask(word), False
            yield plain, ask(word), True
            yield denial, f"The {noun} {be} not {word}.", True
            yield plain, f"The {noun} {be} not {word}.", False
    else:
        one, other = exchanged(example, word, like), exchanged(example, word, unlike)
        true, false = (stream.choice(FRAMES).format(text, capital(text)) for text in (one, other))
    if word in state and stream.random() < 0.3:
        turned = exchanged(state, word, unlike)
        yield turned, true, False
        yield turned, false, True
    else:
        yield state, true, True
        yield state, false, False


def common_words() -> set[str]:
    """Words that the encoder's tokenizer has as one piece."""
    vocabulary = Tokenizer.from_file(str(DATA / "tokenizer.json")).get_vocab()
    return {word for word in vocabulary if word.isalpha()}


if __name__ == "__main__":
    found = list(pairs(read(Path(sys.argv[1])), common_words()))
    text = "".join(f"{'+' if holds else '-'}\t{a}\t{b}\n" for a, b, holds in found)
    # No time in the header: the same bytes each time.
    write_bytes(Path(sys.argv[2]), gzip.compress(text.encode(), 9, mtime=0))
    print(f"{len(found)} pairs")
