"""Everyday questions made from templates: what a task's head must leave as it is."""

import random
from collections.abc import Iterator, Mapping, Sequence

from sysone.systemone.questions import Choice
from sysone.systemone.training.examples import Example

# Topic to things that belong to it; a question asks for the topic, or for the thing.
TOPICS: Mapping[str, Sequence[str]] = {
    "kitchen": ("a saucepan", "a whisk", "a rolling pin", "an oven glove", "a chopping board"),
    "garage": ("a car jack", "engine oil", "a spare tyre", "jump leads", "a wheel brace"),
    "office": ("a stapler", "a filing cabinet", "a whiteboard", "a desk lamp", "a shredder"),
    "hospital": ("a stethoscope", "a drip stand", "a wheelchair", "bandages", "an X-ray machine"),
    "school": ("a blackboard", "a satchel", "exercise books", "a timetable", "a globe"),
    "farm": ("a tractor", "a milking stool", "hay bales", "a plough", "a hen house"),
    "beach": ("a parasol", "a surfboard", "a bucket and spade", "flip-flops", "a lifeguard chair"),
    "orchestra": ("an oboe", "a music stand", "a conductor's baton", "kettledrums", "a violin bow"),
    "bakery": ("sourdough loaves", "a bread oven", "flour sacks", "fresh croissants", "yeast"),
    "airport": ("a boarding pass", "a runway", "a baggage belt", "a control tower", "a gate"),
    "bank": ("a savings account", "a cash machine", "a mortgage", "an interest rate", "a vault"),
    "library": ("a reading room", "overdue books", "a card catalogue", "an atlas", "a bookcase"),
    "court": ("a judge", "a witness stand", "the verdict", "a defence lawyer", "the jury"),
    "data centre": ("server racks", "a backup tape", "a firewall", "cooling units", "a load test"),
    "theatre": ("a curtain", "a prompter", "stage lights", "a dress rehearsal", "an understudy"),
    "laboratory": ("a microscope", "test tubes", "a centrifuge", "a fume hood", "a Petri dish"),
}

TOPIC_FRAMES = (
    "Somebody left {thing} behind.",
    "We have just ordered {thing} and do not know where to put it.",
    "The note mentions {thing} and nothing else.",
    "Report: {thing} was found damaged this morning.",
    "The new colleague asked about {thing} twice.",
)
TOPIC_INSTRUCTIONS = (
    "Which place is this about?",
    "Where does this belong?",
    "Route the message to the right department.",
    "Pick the place that fits best.",
)

# Need to the deed that answers it.
NEEDS: Mapping[str, str] = {
    "The printer has run out of paper.": "Put paper into the tray",
    "The soup tastes of nothing.": "Add salt and herbs",
    "The plant's leaves hang down and the soil is dry.": "Water the plant",
    "The shoelace is undone.": "Tie the shoelace",
    "The window is open and a storm is coming.": "Close the window",
    "The phone rings for the third time.": "Answer the phone",
    "The disk is full.": "Delete old files",
    "The train leaves in five minutes.": "Hurry to the platform",
    "The baby is crying and has not eaten since noon.": "Feed the baby",
    "The knife is blunt.": "Sharpen the knife",
    "The bill is due today.": "Pay the bill",
    "The room is freezing.": "Turn up the heating",
    "The user has forgotten the password.": "Send a link to reset the password",
    "The test fails on one machine only.": "Compare the two environments",
    "The ship takes in water.": "Start the pumps",
    "The dog has been inside all day.": "Take the dog for a walk",
    "The king is in check.": "Move the king out of danger",
    "The query takes forty seconds because it scans the whole table.": "Add an index",
    "The bridge ahead is closed.": "Take another road",
    "The milk smells sour.": "Throw the milk away",
    "The guests have arrived and stand at the door.": "Let the guests in",
    "The patient's fever has risen to forty degrees.": "Call the doctor",
    "The candle burns close to the curtain.": "Move the candle away",
    "The contract ends next week and both sides are content.": "Renew the contract",
}
NEED_INSTRUCTIONS = (
    "What should be done?",
    "Choose the next step.",
    "Which action helps?",
    None,
)

SEVERITIES: Mapping[str, str] = {
    "critical": "People or data are in danger; act at once",
    "major": "An important function does not work",
    "minor": "A nuisance that can wait",
    "none": "There is no problem at all",
}
SEVERITY_STATES: Mapping[str, str] = {
    "critical": "Gas is leaking in building {n} and people feel dizzy.",
    "major": "Nobody in team {n} can log in since the morning.",
    "minor": "The logo on page {n} is two pixels too low.",
    "none": "Check number {n} went through; all is well.",
}


def _choice(
    stream: random.Random,
    state: str,
    instructions: str | None,
    options: Mapping[str, str | None],
    answer: str,
) -> Example:
    names = list(options)
    stream.shuffle(names)
    question = Choice({name: options[name] for name in names}, instructions)
    return Example(state=state, question=question, answer=answer, group="general-template")


def general_choices(count: int, seed: int) -> Iterator[Example]:
    """``count`` choice questions, the same for the same seed."""
    stream = random.Random(f"general-{seed}")
    topics, needs = list(TOPICS), list(NEEDS)
    for _ in range(count):
        kind = stream.randrange(4)
        if kind == 0:
            some = stream.sample(topics, stream.randint(3, 5))
            thing = stream.choice(TOPICS[some[0]])
            frame = stream.choice(TOPIC_FRAMES)
            yield _choice(
                stream,
                frame.format(thing=thing),
                stream.choice(TOPIC_INSTRUCTIONS),
                dict.fromkeys(some),
                some[0],
            )
        elif kind == 1:
            some = stream.sample(topics, stream.randint(3, 5))
            things = {stream.choice(TOPICS[topic]): None for topic in some}
            yield _choice(
                stream,
                f"We are in the {some[0]}.",
                "What would one expect to see here?",
                things,
                next(iter(things)),
            )
        elif kind == 2:
            some = stream.sample(needs, stream.randint(2, 5))
            options = {f"action {index}": NEEDS[need] for index, need in enumerate(some)}
            yield _choice(stream, some[0], stream.choice(NEED_INSTRUCTIONS), options, "action 0")
        else:
            level = stream.choice(list(SEVERITIES))
            state = SEVERITY_STATES[level].format(n=stream.randint(1, 99))
            yield _choice(stream, state, "How severe is it?", SEVERITIES, level)
