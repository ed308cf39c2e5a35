#!/usr/bin/env python3
"""Measures how often answers to questions are found and recalled: the evaluation of `scripts/bench recall`.

    recall.py [--per-category] DIR...

Each DIR is a set of conversations with questions; scripts/bench describes their files. The tools of the PATH work on
stores in temporary directories. For each set, and for the mean of several, this is printed:

- the share of the questions with a message of the evidence among the first 1, 5 and 10 hits of the tools, and of
  SQLite's FTS5;
- the share of the questions of which the sentence of the evidence that is nearest to the answer (to the question, where
  a set has no answers) stands in the block of rsv-enrich, if it takes at most a number of tokens; the same for FTS5's hits,
  whole and in their order; and what is recalled for questions that nothing answers. `all` is without selection
  (enrich.selective = false), `wide` from all conversations of the partition;
- the share at 5 of the formula of rsv-search --hybrid, and without each of its parts (recall_ranking.py).

In brackets are 95 % intervals of differences in points, from resamples of the questions.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import random
import re
import statistics
import tempfile
from pathlib import Path
from typing import Callable, List, Sequence

from recall_ranking import ABLATIONS, AS_IT_SHIPS, WITH_ALL, Evidence
from recall_sets import ALL, Conversation, Enricher, Question, Ranking, Set, Store, best, fts5

FTS5, ANY, SEMANTIC, HYBRID = "FTS5", "rsv-search --by any", "rsv-search --semantic", "rsv-search --hybrid"
SEARCHES = {
    ANY: ("--by", "any"),
    SEMANTIC: ("--semantic",),
    HYBRID: ("--hybrid",),
    "rsv-search --hybrid --link": ("--hybrid", "--link"),
}
# The tool with so great a limit that all messages are candidates.
HYBRID_OF_ALL = f"{HYBRID} --limit {ALL}"
PLACES = (1, 5, 10)
FIRST_HITS = max(PLACES)

# The greatest number of tokens that is recalled, and the other arguments of Enricher.
LIMITS: dict[str, tuple[int, dict[str, bool]]] = {
    "500": (500, {}),
    "1000": (1000, {}),
    "2000": (2000, {}),
    "1000, all": (1000, {"is_selective": False}),
    "1000, wide": (1000, {"is_wide": True}),
}
# The tokens of a hit of FTS5: those of English text, and of its date and role.
BYTES_PER_TOKEN, TOKENS_PER_HIT = 4, 12

RESAMPLES = 1000


class Recalled:
    """The text recalled for a question, by rsv-enrich or as FTS5's hits."""

    def __init__(self, question: Question, text: str, traces: Sequence[str], tokens: int) -> None:
        self.tokens = tokens
        self.has_sentence = key_sentence(question) in letters(text)
        self.has_message = not question.evidence.isdisjoint(traces)
        self.has_all = question.evidence.issubset(traces)


# The kinds of questions: with an answer, the same of FTS5, without an answer, of another conversation.
ANSWERED, BY_FTS5, NEVER_SAID, ELSEWHERE = "answered", "by FTS5", "never said", "elsewhere"


class Results:
    """The measurements of a set."""

    def __init__(self, data: Set) -> None:
        self.data = data
        # By the name of a search or a ranking, for each question with an answer.
        self.rankings: dict[str, list[Ranking]] = {}
        # By what is asked and the name of the limit, for each question.
        self.recalled: dict[tuple[str, str], list[Recalled]] = collections.defaultdict(list)

    def hits(self, name: str, most: int) -> list[bool]:
        pairs = zip(self.data.answered, self.rankings[name])
        return [question.rank(ranking) <= most for question, ranking in pairs]

    def session_hits(self, name: str, most: int) -> list[bool]:
        """Of the questions that name sessions."""
        pairs = zip(self.data.answered, self.rankings[name])
        return [question.session_rank(ranking) <= most for question, ranking in pairs if question.sessions]

    def sentences(self, asked: str, limit: str) -> list[bool]:
        return [one.has_sentence for one in self.recalled[asked, limit]]


# Sentences.


def letters(text: str) -> str:
    return re.sub(r"\W+", "", text.lower())


def words(text: str) -> set:
    """Words; characters where no spaces are between words."""
    return set(re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+", text.lower()))


@functools.lru_cache(maxsize=None)
def key_sentence(question: Question) -> str:
    """The sentence of the evidence that shares most words with the answer, for its length: its first 100 letters and
    digits at most."""
    wanted = words(question.answer or question.text)
    conversation = question.conversation
    places = sorted(at for trace in question.evidence for at in conversation.by_trace.get(trace, []))
    texts = [conversation.text(at) for at in places]
    pieces = [piece for text in texts for piece in re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n+", text)]
    sentences = [piece for piece in pieces if len(words(piece)) > 2 or len(piece) > 8]

    def nearness(sentence: str) -> float:
        own = words(sentence)
        return len(wanted & own) / (8 + len(own))

    return letters(max(sentences or texts or [question.text], key=nearness))[:100]


# The measurements.


def measure(data: Set) -> Results:
    results, questions = Results(data), data.answered
    results.rankings[FTS5] = [best(fts5(question)) for question in questions]
    for name, flags in SEARCHES.items():
        results.rankings[name] = [list(hits) for hits in data.store.search(questions, FIRST_HITS, *flags)]
    found = data.store.search(questions, ALL, "--hybrid")
    results.rankings[HYBRID_OF_ALL] = [list(hits)[:FIRST_HITS] for hits in found]
    evidence = [evidence_of(*one) for one in zip(questions, found)]
    for name, rank in ABLATIONS.items():
        results.rankings[name] = [rank(one)[:FIRST_HITS] for one in evidence]

    asked = [(question, question.conversation) for question in questions + data.unanswerable]
    if any(question.before < len(conversation.messages) for question, conversation in asked):
        # Each is asked when only the messages before it were said.
        asked.sort(key=lambda pair: pair[0].before)
        measure_recall(results, data.growing, asked)
    else:
        measure_recall(results, data.store, asked)
    for question, ranking in zip(questions, results.rankings[FTS5]):
        for limit, (tokens, _) in LIMITS.items():
            results.recalled[BY_FTS5, limit].append(recalled_by_fts5(question, ranking, tokens))
    others = [(question, data.next_conversation.get(question.conversation)) for question in questions]
    measure_recall(results, data.store, [(question, other) for question, other in others if other])
    return results


def evidence_of(question: Question, hits: dict[int, dict]) -> Evidence:
    words, cosines = ({at: why[name] for at, why in hits.items() if name in why} for name in ("keyword", "similarity"))
    return Evidence(question, words, cosines)


def measure_recall(results: Results, store: Store, asked: list[tuple[Question, Conversation]]) -> None:
    """The text that rsv-enrich recalls for each question in a conversation."""
    with contextlib.ExitStack() as stack:
        enrichers: dict[str, Enricher] = {}
        for limit, (tokens, options) in LIMITS.items():
            enrichers[limit] = stack.enter_context(Enricher(store, tokens, **options))
        for question, conversation in asked:
            store.grow(conversation, question.before)
            kind = NEVER_SAID if question.is_unanswerable else ANSWERED
            if conversation is not question.conversation:
                kind = ELSEWHERE
            for limit, enricher in enrichers.items():
                # The whole partition would have the question's own conversation, or no other; a greater limit recalls
                # as rarely.
                if enricher.is_wide and (kind == ELSEWHERE or conversation not in results.data.next_conversation):
                    continue
                if kind == ELSEWHERE and not limit.startswith("1000"):
                    continue
                block, account = enricher.ask(question.text, conversation)
                places = [conversation.place[part["id"]] for part in account if part["id"] in conversation.place]
                traces = [conversation.trace(at) for at in places]
                tokens = sum(part["tokens"] for part in account)
                results.recalled[kind, limit].append(Recalled(question, block, traces, tokens))


def recalled_by_fts5(question: Question, ranking: Ranking, most: int) -> Recalled:
    """FTS5's hits up to this many tokens, at least one of them."""
    conversation, kept, tokens = question.conversation, [], 0
    for at in ranking:
        more = len(conversation.text(at).encode()) // BYTES_PER_TOKEN + TOKENS_PER_HIT
        if kept and tokens + more > most:
            break
        kept.append(at)
        tokens += more
    texts = "\n".join(map(conversation.text, kept))
    return Recalled(question, texts, [conversation.trace(at) for at in kept], tokens)


# The output. Each table is that of one set, or the mean of several.


def percent(those: Sequence[bool]) -> float:
    return 100 * sum(those) / max(1, len(those))


def interval(pairs: Sequence[tuple[Sequence[bool], Sequence[bool]]]) -> str:
    """The interval of the difference of two shares, by the paired bootstrap; of the mean of several sets."""
    chance = random.Random(1)
    sums = [0.0] * RESAMPLES
    for one, other in pairs:
        differences = [int(a) - int(b) for a, b in zip(one, other)]
        for n in range(RESAMPLES if differences else 0):
            sums[n] += sum(chance.choices(differences, k=len(differences))) / len(differences)
    sums.sort()
    low, high = (100 * sums[int(share * (RESAMPLES - 1))] / len(pairs) for share in (0.025, 0.975))
    return f"[{low:+.1f} {high:+.1f}]"


def print_hits(title: str, sets: list[Results]) -> None:
    with_sessions = [results for results in sets if any(question.sessions for question in results.data.answered)]
    heads = [f"{f'hit@{most}':>8} {'from hybrid':<14}" for most in PLACES]
    heads += [f"{f'session@{most}':>11}" for most in PLACES if with_sessions]
    print(f"\n{title:<28}{''.join(heads)}")
    for name in (FTS5, *SEARCHES):
        cells = []
        for most in PLACES:
            hits = [(results.hits(name, most), results.hits(HYBRID, most)) for results in sets]
            difference = "" if name == HYBRID else interval(hits)
            cells.append(f"{statistics.mean(percent(own) for own, _ in hits):>8.1f} {difference:<14}")
        for most in PLACES if with_sessions else ():
            sessions = (percent(results.session_hits(name, most)) for results in with_sessions)
            cells.append(f"{statistics.mean(sessions):>11.1f}")
        print(f"{name:<28}{''.join(cells)}", flush=True)


# A row of the table of what is recalled: what is asked, and a value of what was recalled.
Value = Callable[[List[Recalled]], float]
SENTENCE: Value = lambda some: percent([one.has_sentence for one in some])
MEDIAN: Value = lambda some: statistics.median(one.tokens for one in some)
NOTHING: Value = lambda some: percent([one.tokens == 0 for one in some])
RECALLED: list[tuple[str, str, Value, str]] = [
    ("the sentence of the evidence, %", ANSWERED, SENTENCE, ".1f"),
    ("  in FTS5's hits, %", BY_FTS5, SENTENCE, ".1f"),
    ("a message of the evidence, %", ANSWERED, lambda some: percent([one.has_message for one in some]), ".1f"),
    ("all messages of the evidence, %", ANSWERED, lambda some: percent([one.has_all for one in some]), ".1f"),
    ("tokens, median", ANSWERED, MEDIAN, ".0f"),
    ("  of FTS5's hits", BY_FTS5, MEDIAN, ".0f"),
    ("never said: tokens, median", NEVER_SAID, MEDIAN, ".0f"),
    ("  nothing recalled, %", NEVER_SAID, NOTHING, ".1f"),
    ("another conversation: tokens, median", ELSEWHERE, MEDIAN, ".0f"),
    ("  nothing recalled, %", ELSEWHERE, NOTHING, ".1f"),
]


def print_recalled(title: str, sets: list[Results]) -> None:
    # A set of single conversations has no wider reach.
    with_limit = {limit: [results for results in sets if results.recalled[ANSWERED, limit]] for limit in LIMITS}
    limits = [limit for limit, some in with_limit.items() if some]
    print(f"\n{title + ', within tokens':<40}{''.join(f'{limit:>15}' for limit in limits)}")
    for name, asked, value, form in RECALLED:
        cells = []
        for limit in limits:
            values = [value(r.recalled[asked, limit]) for r in with_limit[limit] if r.recalled[asked, limit]]
            cells.append(format(statistics.mean(values), form) if values else "")
        if any(cells):
            print(f"{name:<40}{''.join(f'{cell:>15}' for cell in cells)}")
    cells = []
    for limit in limits:
        pairs = [(r.sentences(ANSWERED, limit), r.sentences(BY_FTS5, limit)) for r in with_limit[limit]]
        cells.append(interval(pairs))
    print(f"{'the sentence: rsv-enrich from FTS5':<40}{''.join(f'{cell:>15}' for cell in cells)}", flush=True)


def print_ablations(sets: list[Results]) -> None:
    columns = [(results.data.name, [results]) for results in sets]
    if len(sets) > 1:
        columns.append(("mean", sets))
    print(f"\n{'hit@5, and from the formula':<42}{''.join(f'{name:>14}{str():<15}' for name, _ in columns)}")
    for name in ABLATIONS:
        cells = []
        for _, some in columns:
            hits = [(results.hits(name, 5), results.hits(AS_IT_SHIPS, 5)) for results in some]
            difference = "" if name == AS_IT_SHIPS else interval(hits)
            cells.append(f"{statistics.mean(percent(own) for own, _ in hits):>14.1f} {difference:<14}")
        print(f"{name:<42}{''.join(cells)}", flush=True)
    print("\nQuestions of which the formula has the same first hits in the same order as the tool, %")
    for formula, tool in ((AS_IT_SHIPS, HYBRID), (WITH_ALL, HYBRID_OF_ALL)):
        for most in PLACES:
            shares = [statistics.mean(agreement(r, formula, tool, most) for r in some) for _, some in columns]
            print(f"{f'{tool}: {most}':<42}{''.join(f'{share:>14.1f}{str():<15}' for share in shares)}")


def agreement(results: Results, one: str, other: str, most: int) -> float:
    pairs = zip(results.rankings[one], results.rankings[other])
    return percent([a[:most] == b[:most] for a, b in pairs])


def print_categories(results: Results) -> None:
    print(f"\n{results.data.name + ', by category':<40}{'questions':>10}{'FTS5@5':>8}{'any@5':>8}", end="")
    print(f"{'semantic@5':>11}{'hybrid@5':>9}{'sentence in 1000':>18}{'FTS5':>7}")
    categories = [question.category for question in results.data.answered]
    columns = [results.hits(name, 5) for name in (FTS5, ANY, SEMANTIC, HYBRID)]
    columns += [results.sentences(asked, "1000") for asked in (ANSWERED, BY_FTS5)]
    for category in sorted(set(categories)):
        rows = [n for n, own in enumerate(categories) if own == category]
        shares = [percent([column[n] for n in rows]) for column in columns]
        cells = "".join(f"{share:>{width}.1f}" for share, width in zip(shares, (8, 8, 11, 9, 18, 7)))
        print(f"{category:<40}{len(rows):>10}{cells}")


def main() -> None:
    parser = argparse.ArgumentParser(description="How often answers are found and recalled.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--per-category", action="store_true", help="print a table of the categories of each set too")
    options = parser.parse_args()
    sets = []
    for folder in options.folders:
        with tempfile.TemporaryDirectory() as stores:
            data = Set(folder, Path(stores))
            results = measure(data)
        sets.append(results)
        count = f"{data.name}: {len(data.answered)} questions"
        print_hits(count, [results])
        print_recalled(data.name, [results])
        if options.per_category:
            print_categories(results)
    if len(sets) > 1:
        print_hits(f"mean of {len(sets)} sets", sets)
        print_recalled("mean", sets)
    print_ablations(sets)


if __name__ == "__main__":
    main()
