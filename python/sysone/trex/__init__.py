"""Chrome's dinosaur game as a real-time test of System One models.

The rooms, in the order of one decision: ``ask`` words the planner's proof as a question,
``backend`` sends it, ``decide`` reads the answer, ``player`` does both in a process of its own,
``pilot`` decides what becomes of an answer when it lands, ``arena`` and ``pacer`` keep the time,
``score`` and ``report`` count. ``virtual`` plays the same match on a simulated clock.
"""
