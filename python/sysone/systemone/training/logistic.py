"""Train a conditional logistic regression on vectors' products (needs torch).

The log-odds of a candidate are a weighted sum of the products of its components with the
state's; all weights equal is the plain scaled cosine, from which a penalty lets them part. The
loss is convex: no epochs, no learning rate, no seed.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from sysone.systemone.encoder import Encoder
from sysone.systemone.training.examples import Example
from sysone.systemone.training.residual import Texts, cosines, fit_scale, lay_out

# Where the weights start, and where the penalty draws them: a usual scale.
FIRST_SCALE = 12.0


@dataclass(frozen=True)
class LogisticConfig:
    """How a logistic head is fitted."""

    penalty: float = 0.01
    """Of the mean squared distance of the weights from plain scaled cosine."""
    iterations: int = 200
    """At most so many steps of L-BFGS."""


@dataclass(frozen=True)
class FittedLogistic:
    """Weights [width], 1 where they are as at the start, and the scale fitted afterwards."""

    weight: npt.NDArray[np.float32]
    scale: float


def train_logistic(
    encoder: Encoder,
    examples: Sequence[Example],
    calibration: Sequence[Example],
    config: LogisticConfig,
) -> FittedLogistic:
    """Fit the weights to ``examples`` and their common scale to ``calibration``."""
    states, candidates = Texts(encoder, "tail"), Texts(encoder, "head")
    data = lay_out(examples, states, candidates)
    held_out = lay_out(calibration, states, candidates)
    with ThreadPoolExecutor() as pool:
        state_vectors, candidate_vectors = states.encode(pool), candidates.encode(pool)
    weight = torch.full((encoder.width,), FIRST_SCALE, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [weight], max_iter=config.iterations, line_search_fn="strong_wolfe"
    )

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        logits = torch.einsum(
            "qd,qod->qo", state_vectors[data.states] * weight, candidate_vectors[data.candidates]
        ).masked_fill(data.padding, -torch.inf)
        found = torch.nn.functional.cross_entropy(logits, data.targets)
        found = found + config.penalty * (weight - FIRST_SCALE).square().mean()
        found.backward()
        return found

    optimiser.step(loss)
    relative = weight.detach() / FIRST_SCALE
    found = cosines(held_out, state_vectors * relative, candidate_vectors)
    return FittedLogistic(relative.numpy(), fit_scale(found, held_out.targets))
