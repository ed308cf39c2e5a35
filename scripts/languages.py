#!/usr/bin/env python3
"""Measures how often the text that answers a question is found, by language: `scripts/bench languages`.

    languages.py [--sample N] DIR

DIR has texts as NAME.messages.jsonl and their questions as NAME.questions.jsonl, where NAME is a language; scripts/bench
describes the files. The tools of the PATH work on a store for each language, in temporary directories. For each language
this is printed: the share of the questions with a text of the evidence as the first hit and among the first 5, of FTS5 (by
Porter's stems, in Thai, Chinese and Japanese by trigrams) and of rsv-search by any of the words, by meaning and by both;
and the last two for questions in another language, where the questions of both are the same: they have the same evidence
one by one.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Sequence

from recall_sets import Question, Ranking, Set, best, fts5

SEARCHES = {"words": ("--by", "any"), "--semantic": ("--semantic",), "--hybrid": ("--hybrid",)}
PLACES = (1, 5)


def language_set(folder: Path, name: str, stores: Path) -> Set:
    """The texts of one language, with its questions."""
    own, store = stores / f"{name}.data", stores / name
    own.mkdir()
    store.mkdir()
    for file in folder.glob(f"{name}.*.jsonl"):
        (own / file.name).symlink_to(file.resolve())
    return Set(own, store)


def shares(questions: Sequence[Question], rankings: Sequence[Ranking]) -> str:
    """The percentage at each place."""
    ranks = [question.rank(ranking) for question, ranking in zip(questions, rankings)]
    return " ".join(f"{100 * sum(rank <= place for rank in ranks) / len(ranks):5.1f}" for place in PLACES)


def search(data: Set, questions: list[Question], name: str) -> str:
    hits = data.store.search(questions, max(PLACES), *SEARCHES[name])
    return shares(questions, [list(ranking) for ranking in hits])


def row(title: str, cells: Sequence[str]) -> None:
    print(f"{title:<12}" + "".join(f"{cell:>13}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures search by language.")
    parser.add_argument("--sample", type=int, default=0, help="ask this many questions of each language")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    suffix = ".messages.jsonl"
    names = sorted(file.name[: -len(suffix)] for file in arguments.folder.glob(f"*{suffix}"))
    with tempfile.TemporaryDirectory() as temporary:
        sets = {name: language_set(arguments.folder, name, Path(temporary)) for name in names}
        sampled = {name: data.answered for name, data in sets.items()}
        if arguments.sample:
            step = {name: max(1, len(all_) // arguments.sample) for name, all_ in sampled.items()}
            sampled = {name: all_[:: step[name]][: arguments.sample] for name, all_ in sampled.items()}
        print("hits at 1 and at 5, in per cent")
        row("language", ["FTS5", *SEARCHES])
        for name, data in sets.items():
            questions = sampled[name]
            by_fts5 = shares(questions, [best(fts5(question)) for question in questions])
            row(name, [by_fts5, *(search(data, questions, by) for by in SEARCHES)])
        row("asked of", ["", "", "--semantic", "--hybrid"])
        evidence = {name: [question.evidence for question in questions] for name, questions in sampled.items()}
        for name, data in sets.items():
            for other in names:
                if other == name or evidence[other] != evidence[name]:
                    continue
                pairs = zip(sampled[other], sampled[name])
                asked = [replace(own, text=question.text) for question, own in pairs]
                found = (search(data, asked, by) for by in ("--semantic", "--hybrid"))
                row(f"{other} of {name}", ["", "", *found])


if __name__ == "__main__":
    main()
