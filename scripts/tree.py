#!/usr/bin/env python3
"""Measures how often the right section of a manual is among the first hits: the evaluation of `scripts/bench tree`.

    tree.py DIR

DIR has manuals as NAME.documents.jsonl (documents below viking://resources/NAME) and NAME.questions.jsonl (query,
evidence: the addresses of the right documents), which scripts/manuals.py makes. A store of each is made as NAME.db, and
kept for the next run, since vectors take minutes. The first rows of each manual are the results of SQLite's FTS5 over
the same texts and of the tools of the PATH, with the questions that each wins from FTS5 and loses to it in the first
five hits. The next are what the first five hits take in a prompt at each level of detail.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List

FIRST = (1, 5, 10)
SHOWN = 5
WAYS = {
    "words and meaning, --flat": ["--flat"],
    "words and meaning, --recursive": ["--recursive"],
    "vectors alone": ["--flat", "--semantic"],
}


def run(store: Path, *command: str, given: str = "") -> Iterator[dict]:
    """The lines that a tool prints. Exit status 1 is an answer too."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as lines:
        lines.write(given)
        lines.seek(0)
        environment = {**os.environ, "RSV_STORE": f"sqlite:{store}"}
        with subprocess.Popen(command, stdin=lines, stdout=subprocess.PIPE, text=True, env=environment) as tool:
            yield from (json.loads(line) for line in tool.stdout)
    if tool.returncode > 1:
        sys.exit(f"tree.py: error: {' '.join(command)} ended with {tool.returncode}")


def lines(path: Path) -> List[dict]:
    with path.open(encoding="utf-8") as text:
        return [json.loads(line) for line in text]


def texts(document: dict) -> str:
    members = ("title", "abstract", "overview", "content")
    return "\n\n".join(document[member] for member in members if document.get(member))


def bm25(documents: List[dict], questions: List[dict]) -> List[List[str]]:
    """The hits of FTS5 with Porter stemming: documents that hold any word of the question."""
    index = sqlite3.connect(":memory:")
    index.execute("CREATE VIRTUAL TABLE document USING fts5 (text, tokenize = 'porter')")
    index.executemany(
        "INSERT INTO document (rowid, text) VALUES (?, ?)", enumerate(map(texts, documents))
    )
    found = []
    for question in questions:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"[^\W_]+", question["query"]))
        ranked = "SELECT rowid FROM document WHERE document MATCH ? ORDER BY bm25(document) LIMIT 10"
        rows = index.execute(ranked, [words]) if words else []
        found.append([documents[row[0]]["uri"] for row in rows])
    return found


def search(store: Path, name: str, questions: List[dict], flags: List[str]) -> List[List[dict]]:
    """The hits of each question, with what is shown of them at level 1."""
    given = "".join(json.dumps({"query": q["query"], "id": str(at)}) + "\n" for at, q in enumerate(questions))
    command = ("rsv-search", "--target", f"viking://resources/{name}", "--level", "1", *flags)
    found: List[List[dict]] = [[] for _ in questions]
    for line in run(store, *command, given=given):
        if line["kind"] == "hit":
            found[int(line["query"])].append(line)
    return found


def ranks(found: List[List[str]], questions: List[dict]) -> List[int]:
    """The rank of the first right hit, from 1; of a question without one, more than all."""
    right = [set(question["evidence"]) for question in questions]
    return [
        next((rank for rank, uri in enumerate(hits, 1) if uri in evidence), 1000)
        for hits, evidence in zip(found, right)
    ]


def shares(found: List[int]) -> str:
    return " ".join(f"{100 * sum(rank <= first for rank in found) / len(found):6.1f}" for first in FIRST)


def report(label: str, own: List[int], base: List[int]) -> None:
    won = sum(one <= SHOWN < other for one, other in zip(own, base))
    lost = sum(other <= SHOWN < one for one, other in zip(own, base))
    missed = sum(other > SHOWN for other in base)
    print(f"  {label:34} {shares(own)}   +{won} -{lost} of {missed}")


def shown(hit: dict, level: int) -> str:
    """The text of a level, else of the nearest one; at level 1 with the passage for the question."""
    members = ["abstract", "overview", "content"][: level + 1]
    text = next((hit[member] for member in reversed(members) if hit.get(member)), hit["title"])
    return text + "\n\n… " + hit["passage"] if level == 1 and hit.get("passage") else text


def tokens(text: str) -> float:
    """About how many tokens a text in English has."""
    return 0.3 * len(re.sub(r"\s", "", text))


def stems(text: str) -> set:
    """The beginnings of the words of at least three letters; shorter ones tell nothing of a topic."""
    return {word[:5] for word in re.findall(r"[^\W_]{3,}", text.casefold())}


def levels(found: List[List[dict]], questions: List[dict], documents: List[dict]) -> None:
    """At each level: the tokens of the first hits, and the share of the questions of which a right one among them shows
    all words of the question that it has at all."""
    contents = {document["uri"]: document.get("content") for document in documents}
    found = [[{**hit, "content": contents[hit["uri"]]} for hit in hits] for hits in found]
    for level in (0, 1, 2):
        sizes, told = [], 0
        for hits, question in zip(found, questions):
            first = hits[:SHOWN]
            sizes.append(sum(tokens(shown(hit, level)) for hit in first))
            asked = stems(question["query"])
            right = [hit for hit in first if hit["uri"] in question["evidence"]]
            told += any(asked & stems(texts(hit)) <= stems(hit["title"] + " " + shown(hit, level)) for hit in right)
        share = 100 * told / len(questions)
        print(f"  level {level}: {statistics.mean(sizes):7.0f} tokens a question, {share:5.1f} % answered")


def main() -> None:
    directory = Path(sys.argv[1])
    names = sorted(path.name[: -len(".questions.jsonl")] for path in directory.glob("*.questions.jsonl"))
    if not names:
        sys.exit("tree.py: error: the manuals are missing\ntree.py: hint: make them by scripts/manuals.py")
    for name in names:
        documents = lines(directory / f"{name}.documents.jsonl")
        questions = lines(directory / f"{name}.questions.jsonl")
        store = directory / f"{name}.db"
        if not store.exists():
            given = "".join(json.dumps(document) + "\n" for document in documents)
            for _ in run(store, "rsv-ingest", given=given):
                pass
        list(run(store, "rsv-embed", "--quiet", "--pending"))
        print(f"{name}: {len(documents)} documents, {len(questions)} questions; first 1, 5, 10; beside FTS5")
        base = ranks(bm25(documents, questions), questions)
        report("SQLite's FTS5 with Porter stemming", base, base)
        found: Dict[str, List[List[dict]]] = {}
        for label, flags in WAYS.items():
            found[label] = search(store, name, questions, flags)
            report(label, ranks([[hit["uri"] for hit in hits] for hits in found[label]], questions), base)
        levels(next(iter(found.values())), questions, documents)


if __name__ == "__main__":
    main()
