"""Stage C: probabilities that mean what they say.

The boolean head is trained on with three losses over observed outcomes, on leaf vectors of the
frozen backbone: cross-entropy and the Brier score as controls, and rewards of samples alone. The
arm with the best Brier score on the calibration part is kept, unless the head was better without.
Then one temperature a family is fitted on that part, which nothing was trained on; the report
measures on validation games.
"""

import copy
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from sysone.arc.config import StageC
from sysone.arc.learn.rows import Row, question_of
from sysone.arc.system1.backend import TooLongError
from sysone.arc.system1.leaf import Question
from sysone.arc.system1.model import FAMILIES, System1Model
from sysone.runs.progress import Progress

Tensor = Any
BINS: Final = 15
ARMS: Final = ("cross-entropy", "brier", "paired")


Label = int | Sequence[float]
"""What is right: an outcome, or how right each one is, their sum 1."""


@dataclass(slots=True)
class Read:
    """Leaf vectors and labels of rows of one family."""

    vectors: list[Tensor]
    labels: list[Any]


def truth_of(label: Label, count: int) -> NDArray[np.float64]:
    """A label as a distribution over ``count`` outcomes."""
    if isinstance(label, int):
        found = np.zeros(count)
        found[label] = 1
        return found
    return np.asarray(label, np.float64)


def cross_entropy(shares: NDArray[np.float64], label: Label) -> float:
    """Of a distribution against a label."""
    logs = np.log(np.maximum(shares, 1e-12))
    return -float((truth_of(label, len(shares)) * logs).sum())


def paired_surrogate(logits: Tensor, first: Tensor, second: Tensor, labels: Tensor) -> Tensor:
    """A loss whose gradient is, on average over samples, that of the Brier score.

    Two outcomes are drawn from the head. Their reward is [a = y] + [b = y] - [a = b], on average
    1 minus the Brier score, which is proper; each is the other's baseline, which is independent
    of it and so changes variance alone (Williams 1992).

    Args:
        logits: [B, K].
        first: drawn outcomes, int64 [B].
        second: the same, drawn independently.
        labels: int64 [B].
    """
    log_p = logits.log_softmax(-1)
    log_a = log_p.gather(-1, first[:, None])[:, 0]
    log_b = log_p.gather(-1, second[:, None])[:, 0]
    advantage = (first == labels).float() - (second == labels).float()
    same = (first == second).float()
    return -(advantage * (log_a - log_b) - same * (log_a + log_b)).mean()


def brier(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean over rows of the squared distance from the outcome, logits [B, K]."""
    truth = functional.one_hot(labels, logits.shape[-1])
    return (logits.softmax(-1) - truth).square().sum(-1).mean()


def arm_loss(arm: str, logits: Tensor, labels: Tensor, generator: Any) -> Tensor:
    """The loss of an arm on logits [B, K]."""
    if arm == "cross-entropy":
        return functional.cross_entropy(logits, labels)
    if arm == "brier":
        return brier(logits, labels)
    shares = logits.detach().softmax(-1).cpu()
    drawn = torch.multinomial(shares, 2, replacement=True, generator=generator).to(logits.device)
    return paired_surrogate(logits, drawn[:, 0], drawn[:, 1], labels)


def ece(confidence: NDArray[np.float64], correct: NDArray[np.float64], bins: int = BINS) -> float:
    """Expected calibration error over bins of equal mass."""
    order = np.argsort(confidence, kind="stable")
    parts = np.array_split(order, min(bins, max(1, len(order))))
    gaps = [abs(confidence[p].mean() - correct[p].mean()) * len(p) for p in parts if len(p)]
    return float(sum(gaps) / max(1, len(order)))


def measures(shares: Sequence[NDArray[np.float64]], labels: Sequence[Label]) -> dict[str, float]:
    """NLL, Brier, ECE and accuracy of distributions; any of several right outcomes is right.

    Beside them ``uniform``: the accuracy of any outcome with the same probability.
    """
    if not labels:
        return {}
    nll, squares, top, right, uniform = [], [], [], [], []
    for row, label in zip(shares, labels, strict=True):
        truth = truth_of(label, len(row))
        nll.append(cross_entropy(row, label))
        squares.append(float(((row - truth) ** 2).sum()))
        top.append(float(row.max()))
        right.append(float(truth[row.argmax()] > 0))
        uniform.append(float((truth > 0).mean()))
    return {
        "rows": len(labels),
        "nll": round(float(np.mean(nll)), 4),
        "brier": round(float(np.mean(squares)), 4),
        "ece": round(ece(np.array(top), np.array(right)), 4),
        "accuracy": round(float(np.mean(right)), 4),
        "uniform": round(float(np.mean(uniform)), 4),
    }


def read(
    model: System1Model,
    rows: Sequence[Row],
    limit: int,
    progress: Progress,
    change: Callable[[Question], Question] | None = None,
) -> dict[str, Read]:
    """Leaf vectors of at most ``limit`` rows a family, of all games alike.

    ``change`` is done to each question before it is asked.
    """
    found: dict[str, Read] = {family: Read([], []) for family in FAMILIES}
    drawn = [
        row
        for family in FAMILIES
        for row in sorted(
            (row for row in rows if row.family == family),
            key=lambda row: (crc32(row.key.encode()), row.key),
        )[:limit]
    ]
    task = progress.task("stage C: reading", len(drawn))
    with torch.inference_mode():
        for row in drawn:
            question = question_of(row, model.backend.compact)
            if change is not None:
                question = change(question)
            with suppress(TooLongError):
                vectors = model.backend.vectors([question], 64)[0]
                found[row.family].vectors.append(vectors.clone())
                found[row.family].labels.append(row.target)
            task.advance()
    task.finish()
    return found


def logits_of(model: System1Model, family: Any, found: Read) -> list[NDArray[np.float64]]:
    """Logits of every row, of a boolean those of false and true."""
    if not found.labels:
        return []
    with torch.inference_mode():
        listed = model.read(found.vectors, [family] * len(found.labels))
    rows = [row.double().cpu().numpy() for row in listed]
    return [np.concatenate([[0.0], row]) for row in rows] if family == "boolean" else rows


def softmax(logits: NDArray[np.float64], temperature: float = 1.0) -> NDArray[np.float64]:
    """Shares of logits."""
    scaled = logits / temperature
    powers = np.exp(scaled - scaled.max())
    shares: NDArray[np.float64] = powers / powers.sum()
    return shares


def fit_temperature(logits: Sequence[NDArray[np.float64]], labels: Sequence[Label]) -> float:
    """The temperature with the least NLL, 0.05 to 20, by golden section on its logarithm."""

    def nll(log_t: float) -> float:
        t = math.exp(log_t)
        pairs = zip(logits, labels, strict=True)
        return float(np.mean([cross_entropy(softmax(row, t), label) for row, label in pairs]))

    low, high = math.log(0.05), math.log(20.0)
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(40):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        if nll(a) <= nll(b):
            high = b
        else:
            low = a
    return round(math.exp((low + high) / 2), 4)


def escalation_threshold(
    shares: Sequence[NDArray[np.float64]], labels: Sequence[Label]
) -> float | None:
    """The top probability that best tells wrong choices from right ones (Youden's J).

    None where there are only right or only wrong ones.
    """
    top = np.array([row.max() for row in shares])
    pairs = zip(shares, labels, strict=True)
    wrong = np.array([truth_of(label, len(row))[row.argmax()] == 0 for row, label in pairs])
    if not len(top) or wrong.all() or not wrong.any():
        return None
    levels = np.unique(top)
    gains = [(top[wrong] < t).mean() - (top[~wrong] < t).mean() for t in levels]
    return round(float(levels[int(np.argmax(gains))]), 4)


def train_arm(model: System1Model, found: Read, arm: str, config: StageC, seed: int) -> Any:
    """The boolean head after training with one loss; the model's own stays as it is."""
    head = copy.deepcopy(model.heads.scalar["boolean"])
    with torch.no_grad():
        normed = model.heads.norm(torch.stack([row[0] for row in found.vectors]).float())
    labels = torch.tensor(found.labels, device=normed.device)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(head.parameters(), lr=config.lr, weight_decay=0.01)
    for _ in range(config.steps):
        rows = torch.randint(len(labels), (config.batch,), generator=generator)
        z = head(normed[rows])[:, 0]
        logits = torch.stack([torch.zeros_like(z), z], -1)
        optimizer.zero_grad()
        arm_loss(arm, logits, labels[rows], generator).backward()
        optimizer.step()
    return head


BLANKED: Final[dict[str, Callable[[Question], Question] | None]] = {
    "whole": None,
    "picture blanked": lambda asked: replace(asked, grid=np.zeros_like(asked.grid)),
    "state blanked": lambda asked: replace(asked, state=asked.state.split("\n", 1)[0]),
    "lines blanked": lambda asked: replace(asked, instruction=asked.instruction.split("\n", 1)[0]),
}
"""Parts of a question that an answer is measured without: its cells, its state, what is known."""


def ablations(
    model: System1Model, held: Sequence[Row], rows: int, progress: Progress
) -> dict[str, dict[str, dict[str, float]]]:
    """What each part of a question is worth: measures on at most ``rows`` of each family."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, change in BLANKED.items():
        seen = read(model, held, rows, progress, change)
        found[name] = {
            family: measures(
                [
                    softmax(row, model.temperatures.get(family, 1.0))
                    for row in logits_of(model, family, seen[family])
                ],
                seen[family].labels,
            )
            for family in FAMILIES
        }
    return found


def calibrate(
    model: System1Model,
    train: Sequence[Row],
    calibration: Sequence[Row],
    held: Sequence[Row],
    config: StageC,
    seed: int,
    progress: Progress,
) -> dict[str, Any]:
    """Set head, temperatures and threshold of the model in place; the report."""
    model.eval()
    booleans = [row for row in train if row.family == "boolean"]
    taught = read(model, booleans, config.max_rows, progress)["boolean"]
    fit = read(model, calibration, config.max_rows, progress)
    seen = read(model, held, config.max_rows, progress)
    report: dict[str, Any] = {"arms": {}, "families": {}}

    def score() -> dict[str, float]:
        rows = logits_of(model, "boolean", fit["boolean"])
        return measures([softmax(row) for row in rows], fit["boolean"].labels)

    before = {f: logits_of(model, f, seen[f]) for f in FAMILIES}
    if taught.labels and fit["boolean"].labels:
        kept = model.heads.scalar["boolean"]
        report["arms"]["none"] = score()
        best = report["arms"]["none"]["brier"]
        report["kept_arm"] = "none"
        for arm in ARMS:
            head = train_arm(model, taught, arm, config, seed)
            model.heads.scalar["boolean"] = head
            report["arms"][arm] = score()
            if report["arms"][arm]["brier"] < best:
                best, kept = report["arms"][arm]["brier"], head
                report["kept_arm"] = arm
        model.heads.scalar["boolean"] = kept
    for family in FAMILIES:
        if not fit[family].labels:
            continue
        fitted = logits_of(model, family, fit[family])
        temperature = fit_temperature(fitted, fit[family].labels)
        model.temperatures[family] = temperature
        after = logits_of(model, family, seen[family])
        report["families"][family] = {
            "temperature": temperature,
            "before": measures([softmax(row) for row in before[family]], seen[family].labels),
            "after": measures([softmax(row, temperature) for row in after], seen[family].labels),
        }
        if family == "choice":
            shares = [softmax(row, temperature) for row in fitted]
            model.escalation = escalation_threshold(shares, fit[family].labels)
            report["escalation"] = model.escalation
    if config.ablation_rows:
        report["ablations"] = ablations(model, held, config.ablation_rows, progress)
    return report
