"""A verdict on whether attention explains the answers of a model, by rules on what was measured.

Three questions, each answered by yes or no only where the whole 95 % interval lies on one side of
a limit, and else left open:

    needs    do answers change if other weights are put in place of those of attention?
    points   does the most attended word move the answer more than a random one, if it is dropped?
    agrees   does attention put the words in the order of what leaving each of them out does?

Attention explains a model where all three are answered by yes. It does not where the first is
answered by no, as what makes no difference cannot be the reason, or where both others are.

Sources: the first is that of Wiegreffe and Pinter 2019, section 3.1; the second that of Serrano
and Smith 2019, section 4; the third that of Jain and Wallace 2019, section 4.1.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from attention_core.intervals import Interval, of_mean
from attention_core.neural.sentiment.examination import Examination

Answer: TypeAlias = Literal["yes", "no", "open"]
Conclusion: TypeAlias = Literal["explains", "does_not", "partly", "open", "too_few"]

FEWEST = 30  # sentences: below, the interval of a mean is too narrow
LEAST_FLIPPED = 0.05  # one answer in twenty: as seldom as what one takes for chance elsewhere
LEAST_MOVED = 0.02  # probability: two points in a hundred, which nobody would see in one answer
LEAST_TAU = 1 / 3  # two pairs of words in three are ordered alike


@dataclass(frozen=True, slots=True)
class Verdict:
    """The conclusion, and the answers and intervals that it follows from."""

    conclusion: Conclusion
    needs: Answer
    points: Answer
    agrees: Answer
    beyond_random: Interval  # mean |Δp| of the most attended word less that of a random one
    beyond_random_mean: float
    behind_gradient: Interval  # mean τ of gradient less that of attention, each with occlusion


def verdict(of: Examination) -> Verdict:
    """What follows from the examination of a model with attention."""
    most, random = of.effects["most"].moved, of.effects["random"].moved
    beyond = of_mean(most - random)
    attention, gradient = (
        of.agreements[pair].taus for pair in ("attention_occlusion", "occlusion_gradient")
    )
    behind = gradient - attention
    behind_gradient = of_mean(behind[~np.isnan(behind)])
    needs, points = _needs(of), _answer(beyond, LEAST_MOVED)
    agrees = _answer(of.agreements["attention_occlusion"].interval, LEAST_TAU)
    if agrees == "no" and not behind_gradient.lower > 0:
        agrees = "open"  # two yardsticks agree no better, so attention is not to blame
    conclusion = _conclusion(needs, points, agrees)
    if len(of.statements) < FEWEST:
        conclusion, needs, points, agrees = "too_few", "open", "open", "open"
    mean = float((most - random).mean())
    return Verdict(conclusion, needs, points, agrees, beyond, mean, behind_gradient)


def _needs(of: Examination) -> Answer:
    """By the stronger of the two: other weights can be harmless in one way and not in another."""
    shares = [_answer(of.effects[name].interval, LEAST_FLIPPED) for name in ("equal", "shuffled")]
    if "yes" in shares:
        return "yes"
    return "open" if "open" in shares else "no"


def _answer(interval: Interval, limit: float) -> Answer:
    if interval.lower > limit:
        return "yes"
    return "no" if interval.upper < limit else "open"


def _conclusion(needs: Answer, points: Answer, agrees: Answer) -> Conclusion:
    if needs == "no" or points == agrees == "no":
        return "does_not"
    if needs == points == agrees == "yes":
        return "explains"
    return "partly" if "yes" in (needs, points, agrees) else "open"
