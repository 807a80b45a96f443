"""Chrome's dinosaur game as a real-time test of System One models.

The rooms, in the order of one decision: ``ask`` words the planner's proof as a question,
``backend`` sends it, ``decide`` reads the answer, ``player`` does both in a process of its own,
``pilot`` decides what becomes of an answer when it lands, ``arena`` and ``pacer`` keep the time,
``score`` and ``report`` count, ``match`` plays the seeds.

Beside real time: ``virtual`` drives the same match on a simulated clock and ``simulate`` a seed of
it, with answers as late as a source of ``latency`` says, from ``answers`` or from ``baselines``.
``sweep`` plays a grid of such seeds and ``plot`` draws it; ``compare`` pairs two runs' seeds;
``recording`` keeps a match and ``replay`` verifies it.
"""
