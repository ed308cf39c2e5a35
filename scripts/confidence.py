#!/usr/bin/env python3
"""How the confidence in memories follows the signals about them: for scripts/bench learn and rsv-memory(7).

    confidence.py calibration SEED...   how near the confidence comes to the usefulness of memories, in a simulation
    confidence.py plot                  how the confidence in one memory moves with signals

The signals are simulated; rsv-import and rsv-export in the PATH make of them the confidences of "rsv". The rules that
these are compared with are written below. Needs Python's standard library only.
"""

import datetime
import itertools
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Callable, Dict, Iterator, List, Tuple

DAY = 24 * 3600 * 1000
BEGIN = 1_750_000_000_000  # ms
DAYS = 90
PROJECTS = 10
MEMORIES = 200
SIGNALS = 3000
TYPES = ("explicit", "usage", "outcome")
SHARES = (0.15, 0.6, 0.25)


@dataclass
class Signal:
    type: str
    positive: bool
    at: int  # ms
    predicted: List[str] = field(default_factory=list)


@dataclass
class Memory:
    id: str
    project: str
    usefulness: float
    prior: float
    signals: List[Signal] = field(default_factory=list)


# The simulation.


def simulate(seed: int) -> List[Memory]:
    dice = random.Random(seed)
    return [memory for number in range(PROJECTS) for memory in project(number, dice)]


def project(number: int, dice: random.Random) -> List[Memory]:
    memories = []
    for n in range(MEMORIES):
        usefulness = dice.betavariate(2, 2)
        prior = min(0.95, max(0.05, usefulness + dice.gauss(0, 0.2)))
        memories.append(Memory(f"p{number}-m{n}", f"p{number}", usefulness, prior))
    popularity = [1 / rank**0.8 for rank in range(1, MEMORIES + 1)]
    dice.shuffle(popularity)
    popularity = list(itertools.accumulate(popularity))
    reliability = dice.uniform(0.1, 0.9)
    is_selective = number % 2 == 1
    for at in sorted(BEGIN + int(dice.random() * DAYS * DAY) for _ in range(SIGNALS)):
        memory = dice.choices(memories, cum_weights=popularity)[0]
        signal = Signal(dice.choices(TYPES, SHARES)[0], True, at)
        if signal.type == "usage":
            if is_selective and dice.random() >= memory.usefulness:
                continue
        elif signal.type == "outcome":
            signal.positive = dice.random() < reliability * memory.usefulness + (1 - reliability) / 2
        else:
            signal.positive = dice.random() < 0.9 * memory.usefulness + 0.05
            signal.predicted = predicted(memory, at)
        memory.signals.append(signal)
    return memories


def predicted(memory: Memory, at: int) -> List[str]:
    """The verdict of signals of usage and outcome about a memory in the day before, as rsv-signal records it."""
    found = []
    recent = list(itertools.takewhile(lambda one: one.at >= at - DAY, reversed(memory.signals)))
    for name in ("usage", "outcome"):
        of_type = [one.positive for one in recent if one.type == name]
        if of_type:
            found.append(name + ("+" if any(of_type) else "-"))
    return found


def lines(memories: List[Memory]) -> Iterator[dict]:
    for memory in memories:
        yield {
            "kind": "memory", "id": memory.id, "partition": memory.project, "instance": "default",
            "title": memory.id, "content": "A memory.", "outcome": "success", "prior": memory.prior,
            "timestamp": BEGIN,
        }  # fmt: skip
    for memory in memories:
        uses: Dict[int, int] = {}
        for number, signal in enumerate(memory.signals):
            line = {
                "kind": "signal", "of": memory.id, "type": signal.type, "positive": signal.positive,
                "timestamp": signal.at,
            }  # fmt: skip
            if signal.type == "usage":
                day = signal.at // DAY
                uses[day] = uses.get(day, 0) + 1
                line.update(id=f"{memory.id}-d{day}", day=date_of(day), store="simulated", count=uses[day])
            else:
                line["id"] = f"{memory.id}-s{number}"
                if signal.predicted:
                    line["predicted"] = signal.predicted
            yield line


def date_of(day: int) -> str:
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=day)).isoformat()


# The rules.

Confidences = Dict[str, float]


class Store:
    """A store of rsv with these memories and their signals."""

    def __init__(self, memories: List[Memory]):
        self.directory = tempfile.TemporaryDirectory(prefix="rsv-confidence.")
        self.environment = {**os.environ, "RSV_STORE": f"sqlite:{self.directory.name}/store.db"}
        self.run({}, "rsv-import", "--quiet", given="".join(json.dumps(line) + "\n" for line in lines(memories)))

    def run(self, settings: Dict[str, str], *command: str, given: str = "") -> str:
        environment = {**self.environment, **settings}
        ran = subprocess.run(command, input=given, stdout=subprocess.PIPE, env=environment, text=True, check=True)
        return ran.stdout

    def confidences(self, **settings: str) -> Confidences:
        exported = self.run(settings, "rsv-export", "--kind", "memory")
        memories = [line for line in map(json.loads, exported.splitlines()) if line["kind"] == "memory"]
        return {memory["id"]: memory["confidence"] for memory in memories}


def by_the_original(memories: List[Memory]) -> Confidences:
    """contextd's rules: a uniform prior, each use counts, and only positive predictions are learnt from."""
    found = {}
    for _, group in itertools.groupby(memories, key=lambda memory: memory.project):
        of_project = list(group)
        counts = {"explicit": [7.0, 3.0], "usage": [5.0, 5.0], "outcome": [5.0, 5.0]}
        for signal in (one for memory in of_project for one in memory.signals):
            for prediction in signal.predicted:
                if prediction.endswith("+"):
                    counts[prediction[:-1]][not signal.positive] += 1
        shares = {name: a / (a + b) for name, (a, b) in counts.items()}
        for memory in of_project:
            evidence = [1.0, 1.0]
            for signal in memory.signals:
                evidence[not signal.positive] += shares[signal.type] / sum(shares.values())
            found[memory.id] = evidence[0] / sum(evidence)
    return found


def by_votes(memories: List[Memory]) -> Confidences:
    """Explicit signals alone, each as one observation, with a uniform prior."""
    found = {}
    for memory in memories:
        votes = [one.positive for one in memory.signals if one.type == "explicit"]
        found[memory.id] = (1 + sum(votes)) / (2 + len(votes))
    return found


# The comparison.


def error_of(confidences: Confidences, memories: List[Memory]) -> float:
    """The mean squared distance to the usefulness."""
    return statistics.fmean((confidences[memory.id] - memory.usefulness) ** 2 for memory in memories)


def correlation_of(confidences: Confidences, memories: List[Memory]) -> float:
    """Spearman's rank correlation with the usefulness; equal values share their mean rank."""
    a = ranks([confidences[memory.id] for memory in memories])
    b = ranks([memory.usefulness for memory in memories])
    mean = (len(memories) - 1) / 2
    covariance = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    return covariance / math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))


def ranks(values: List[float]) -> List[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    found, begin = [0.0] * len(values), 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for at in order[begin:end]:
            found[at] = (begin + end - 1) / 2
        begin = end
    return found


OWN = "rsv"
RULES: Dict[str, Callable[[Store, List[Memory]], Confidences]] = {
    OWN: lambda store, _: store.confidences(),
    "the rules of the original": lambda _, memories: by_the_original(memories),
    "explicit signals alone": lambda _, memories: by_votes(memories),
    "the prior alone": lambda _, memories: {memory.id: memory.prior for memory in memories},
    "rsv, memory.prior uniform": lambda store, _: store.confidences(RSV_MEMORY_PRIOR="uniform"),
    "rsv, memory.prior_strength 2": lambda store, _: store.confidences(RSV_MEMORY_PRIOR_STRENGTH="2"),
    "rsv, memory.prior_strength 8": lambda store, _: store.confidences(RSV_MEMORY_PRIOR_STRENGTH="8"),
}


def print_calibration(seeds: List[int]) -> None:
    """The means over the seeds, and in how many of these rsv is nearer, and ranks better."""
    results: Dict[str, List[Tuple[float, float]]] = {rule: [] for rule in RULES}
    for seed in seeds:
        memories = simulate(seed)
        store = Store(memories)
        for rule, confidences in RULES.items():
            found = confidences(store, memories)
            results[rule].append((error_of(found, memories), correlation_of(found, memories)))
    print(f"{'':<30}{'distance':>8}{'ranks':>7}   rsv is better in")
    for rule, of_rule in results.items():
        error, correlation = map(statistics.fmean, zip(*of_rule))
        pairs = list(zip(results[OWN], of_rule))
        nearer = sum(ours[0] < theirs[0] for ours, theirs in pairs)
        better = sum(ours[1] > theirs[1] for ours, theirs in pairs)
        wins = "" if rule == OWN else f"   {nearer:>2} and {better:>2} of {len(seeds)}"
        print(f"{rule:<30}{error:>8.3f}{correlation:>7.2f}{wins}")


# The plot.

HEIGHT = 16
MOST = 20


def print_plot() -> None:
    """The confidence in a memory that begins at 0.8, by the number of explicit signals, all alike."""
    memories = []
    for mark, count in itertools.product("+-", range(MOST + 1)):
        memory = Memory(f"{mark}{count}", "plot", 0.0, 0.8)
        memory.signals = [Signal("explicit", mark == "+", BEGIN + n) for n in range(count)]
        memories.append(memory)
    rows = [[" "] * (2 * MOST + 1) for _ in range(HEIGHT + 1)]
    for name, confidence in Store(memories).confidences().items():
        count = int(name[1:])
        rows[round((1 - confidence) * HEIGHT / 0.8)][2 * count] = name[0] if count else "*"
    for at, row in enumerate(rows):
        label = "" if at % 4 else f"{1 - at * 0.8 / HEIGHT:.1f}"
        print(f"{label:<4}|{''.join(row)}".rstrip())
    print("    +" + "-" * (2 * MOST + 1))
    print("     " + "".join(f"{n:<10}" for n in range(0, MOST + 1, 5)).rstrip() + "  signals")


def main() -> None:
    what, *given = sys.argv[1:] or [""]
    if what == "calibration" and given and all(text.isdigit() for text in given):
        print_calibration(list(map(int, given)))
    elif what == "plot" and not given:
        print_plot()
    else:
        sys.exit("confidence.py: error: nothing is asked\nconfidence.py: hint: confidence.py calibration SEED... | plot")


if __name__ == "__main__":
    main()
