# SPDX-License-Identifier: MIT
"""Statistics of a comparison in rounds: in each round both sides ran the same case, one after the other."""


def quantile(values, part):
    """Linear between neighbors, as numpy.percentile; `values` need not be sorted, and are not empty."""
    ordered = sorted(values)
    at = part * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def median(values):
    return quantile(values, 0.5)


class Ratio:
    """How many times as long the other side took: median and quartiles of the rounds' ratios of medians.

    A ratio is taken within a round, where both sides met the same machine, so that drift over minutes cancels.
    """

    def __init__(self, ours, theirs):
        """Two lists of rounds, each a list of seconds of single runs."""
        if not ours or len(ours) != len(theirs):
            raise ValueError("%d rounds of one side and %d of the other" % (len(ours), len(theirs)))
        self.ours = median([median(samples) for samples in ours])
        self.theirs = median([median(samples) for samples in theirs])
        ratios = [median(b) / median(a) for a, b in zip(ours, theirs)]
        self.rounds = len(ratios)
        self.median = median(ratios)
        self.q1 = quantile(ratios, 0.25)
        self.q3 = quantile(ratios, 0.75)


def same_losses(ours, theirs, tolerance=1e-3):
    """Whether two runs of a check did the same work: equal numbers of parameters, losses within a relative tolerance."""
    return (
        len(ours) == len(theirs)
        and ours[0] == theirs[0]
        and all(abs(a - b) <= tolerance * abs(b) for a, b in zip(ours[1:], theirs[1:]))
    )


def seconds_text(seconds):
    for unit, scale in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * scale < 1000:
            return "%.3g %s" % (seconds * scale, unit)
    return "%.3g s" % seconds
