#!/usr/bin/env python3
"""Measures how often the answer to a question is among the first hits: the evaluation of `scripts/bench recall`.

    recall.py DIR

DIR has conversations as NAME.messages.jsonl and their questions as NAME.questions.jsonl; scripts/bench describes
them. The tools of the PATH work on the store of RSV_STORE, which must be empty. The first rows are the results of
the tools. The next rows are other ways to rank, with one ingredient changed in each, made of the scores by words and the
cosines that rsv-search printed; the way of src/search/hybrid.rs is among them, and must find what the tool finds, but
for messages at the edge of the candidates, which the tool takes by their BM25.
The next rows are the hits of questions that no message answers. The last rows are what rsv-enrich recalls for each
question in a new conversation, long after the last message: by rule, and in tokens.
"""

from __future__ import annotations

import datetime
import functools
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Tuple

# The constants of src/ranking/weights.rs.
NEIGHBOUR_WEIGHT = (0.4, 0.2)
ANSWERED = 0.4
SHORT = 300
ROLE_POWER = 0.3
DATE_BOOST = 1.5
MIN_CANDIDATES = 40
# The floor of MiniLM, for a model whose floor `rsv-embed --models` does not give.
FLOOR = 0.2

MAX_HITS = 1000
FIRST_HITS = 10
WHEN = re.compile(r"\b(when|how long|what (day|date|month|year|time))\b", re.I)
TIME = re.compile(
    r"\b(yesterday|today|tomorrow|tonight|morning|last|next|ago|since|recently|weeks?|weekend|months?|years?"
    r"|(mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september"
    r"|october|november|december|\d{4})\b",
    re.I,
)

MONTHS = "january february march april may june july august september october november december".split()

# A message is identified by its position in its conversation.
Scores = Dict[int, float]
Ranking = List[int]


@dataclass
class Conversation:
    """The messages of one instance in the order of the store, and the synapses between them."""

    messages: list[dict] = field(default_factory=list)
    place: dict[str, int] = field(default_factory=dict)
    synapses: dict[int, list[int]] = field(default_factory=dict)

    def add(self, message: dict) -> None:
        self.place[message["id"]] = len(self.messages)
        self.messages.append(message)

    def asks(self, at: int) -> bool:
        return str(self.messages[at]["content"]).rstrip().endswith(("?", "？", "؟"))

    def size(self, at: int) -> int:
        return max(1, len(str(self.messages[at]["content"]).encode()))

    def shortness(self, at: int) -> float:
        return min(1.0, SHORT / self.size(at))

    def link(self, one: str, other: str) -> None:
        for at, to in ((one, other), (other, one)):
            self.synapses.setdefault(self.place[at], []).append(self.place[to])


@dataclass
class Question:
    text: str
    instance: str
    conversation: Conversation
    evidence: set[int]
    # Asked for what was never said: category 5 of LoCoMo.
    adversarial: bool
    keyword: Scores = field(default_factory=dict)
    cosine: Scores = field(default_factory=dict)

    @functools.cached_property
    def words(self) -> Scores:
        """The scores by words of the candidates that words find."""
        return {at: self.keyword[at] for at in best(self.keyword)[:MIN_CANDIDATES]}

    @functools.cached_property
    def found(self) -> set[int]:
        """The candidates by words and by meaning."""
        return set(self.words) | set(best(self.cosine)[:MIN_CANDIDATES])

    @functools.cached_property
    def pool(self) -> set[int]:
        """The messages that are ranked: the candidates and their neighbours."""
        reach, end = len(NEIGHBOUR_WEIGHT), len(self.conversation.messages)
        return {near for at in self.found for near in range(max(0, at - reach), min(end, at + reach + 1))}


def best(scores: Scores) -> Ranking:
    """In order; of equals the newest first."""
    return sorted(scores, key=lambda at: (-scores[at], -at))


# The tools.


def run(*command: str, given: str = "") -> Iterator[dict]:
    """The lines that a tool prints. Exit status 1 is an answer too."""
    with tempfile.TemporaryFile("w+") as lines:
        lines.write(given)
        lines.seek(0)
        with subprocess.Popen(command, stdin=lines, stdout=subprocess.PIPE, text=True) as tool:
            yield from (json.loads(line) for line in tool.stdout)
    if tool.returncode > 1:
        sys.exit(f"recall.py: error: {' '.join(command)} ended with {tool.returncode}")


def search(questions: list[Question], limit: int, *flags: str) -> Iterator[tuple[int, dict]]:
    """The hits of all questions, each with the number of its question."""
    lines = []
    for number, question in enumerate(questions):
        first = question.conversation.messages[0]
        scope = {"partition": first["partition"], "instance": first["instance"]}
        lines.append(json.dumps({"kind": "query", "query": question.text, "id": str(number), "limit": limit, **scope}))
    for hit in run("rsv-search", *flags, given="\n".join(lines)):
        if hit["kind"] == "hit":
            yield int(hit["query"]), hit


def ranking_of(questions: list[Question], *flags: str) -> list[Ranking]:
    """The rankings of rsv-search."""
    rankings: list[Ranking] = [[] for _ in questions]
    for number, hit in search(questions, FIRST_HITS, *flags):
        rankings[number].append(questions[number].conversation.place[hit["id"]])
    return rankings


def read(folder: Path) -> list[Question]:
    """Fills the store, and reads the questions."""
    given = "".join(path.read_text() for path in sorted(folder.glob("*.messages.jsonl")))
    list(run("rsv-import", "--quiet", given=given))
    for tool in (["rsv-embed", "--pending"], ["rsv-link"]):
        subprocess.run(tool, check=True, stdout=subprocess.DEVNULL)
    conversations: dict[str, Conversation] = {}
    of: dict[str, Conversation] = {}
    for record in run("rsv-export"):
        if record["kind"] == "message":
            of[record["id"]] = conversations.setdefault(record["instance"], Conversation())
            of[record["id"]].add(record)
        elif record["kind"] == "link" and record["rel"] == "SYNAPSE" and of[record["from"]] is of[record["to"]]:
            of[record["from"]].link(record["from"], record["to"])
    questions = []
    for path in sorted(folder.glob("*.questions.jsonl")):
        for line in map(json.loads, path.read_text().splitlines()):
            conversation = conversations[line["instance"]]
            evidence = {at for at, m in enumerate(conversation.messages) if m["trace_id"] in line["evidence"]}
            adversarial = line.get("category") == 5 or not evidence
            questions.append(Question(line["question"], line["instance"], conversation, evidence, adversarial))
    for number, hit in search(questions, MAX_HITS, "--semantic"):
        question = questions[number]
        question.cosine[question.conversation.place[hit["id"]]] = hit["why"]["similarity"]
    for number, hit in search(questions, MAX_HITS, "--hybrid"):
        question = questions[number]
        if "keyword" in hit["why"]:
            question.keyword[question.conversation.place[hit["id"]]] = hit["why"]["keyword"]
    return questions


def floor_of_model() -> tuple[str, float]:
    used = next((row for row in run("rsv-embed", "--models") if row["in_use"]), {"model": "no model"})
    return used["model"], used.get("recall", FLOOR)


# The ways to rank.


def fused(q: Question, meaning: float = 1.0) -> Scores:
    """A message's own score, by its words and its meaning."""
    words = {at: q.keyword.get(at, 0.0) for at in q.pool}
    cosines = {at: max(0.0, q.cosine.get(at, 0.0)) for at in q.pool}
    most, nearest = max(words.values(), default=0.0) or 1.0, max(cosines.values(), default=0.0) or 1.0
    return {at: words[at] / most + meaning * cosines[at] / nearest for at in q.pool}


def with_roles(q: Question, own: Scores) -> Scores:
    """Messages of a role that writes more than others count less."""
    sizes: dict[str, list[int]] = {}
    for at in own:
        sizes.setdefault(q.conversation.messages[at]["role"], []).append(q.conversation.size(at))
    mean = statistics.mean([size for some in sizes.values() for size in some] or [1])
    factors = {role: (mean / statistics.mean(some)) ** ROLE_POWER for role, some in sizes.items()}
    return {at: score * factors[q.conversation.messages[at]["role"]] for at, score in own.items()}


def with_dates(q: Question, own: Scores) -> Scores:
    """Messages of the months and years that the question names count more."""
    words = re.findall(r"[^\W_]+", q.text.lower())
    months = {n for word in words if len(word) > 2 for n, name in enumerate(MONTHS, 1) if name.startswith(word)}
    years = {int(word) for word in words if re.fullmatch(r"(19|20)\d\d", word)}

    def is_dated(at: int) -> bool:
        then = datetime.datetime.fromtimestamp(q.conversation.messages[at]["timestamp"] / 1000, datetime.timezone.utc)
        return (not months or then.month in months) and (not years or then.year in years)

    return {at: score * (DATE_BOOST if (months or years) and is_dated(at) else 1.0) for at, score in own.items()}


def reciprocal(q: Question, k: int = 60) -> Scores:
    """Reciprocal rank fusion (Cormack, Clarke and Buettcher 2009)."""
    scores = dict.fromkeys(q.pool, 0.0)
    for part in (q.keyword, q.cosine):
        for rank, at in enumerate(best(part), 1):
            if at in scores:
                scores[at] += 1 / (k + rank)
    return scores


def spread(
    q: Question,
    own: Scores,
    weights: Tuple[float, ...] = NEIGHBOUR_WEIGHT,
    join: Callable = max,
    answered: float = ANSWERED,
    by_length: bool = True,
) -> Scores:
    """Adds to each score a part of the scores of its neighbours, by its length. A short message that asks something
    gives `answered` more to the next."""
    conversation, scores = q.conversation, dict(own)
    for at in own:
        for step, part in enumerate(weights, 1):
            asked = step == 1 and at - 1 in own and conversation.asks(at - 1)
            from_before = part + (answered * conversation.shortness(at - 1) if asked else 0.0)
            near = [n for n in (at - step, at + step) if n in own]
            lent = join([own[n] * (from_before if n < at else part) for n in near] or [0.0])
            scores[at] += lent * (conversation.shortness(at) if by_length else 1.0)
    return scores


def with_recency(q: Question, scores: Scores) -> Scores:
    times = [message["timestamp"] for message in q.conversation.messages]
    half = max(1, (times[-1] - times[0]) / 2)
    return {at: score + 0.05 * 2 ** -((times[-1] - times[at]) / half) for at, score in scores.items() if score > 0}


def with_time_words(q: Question, own: Scores) -> Scores:
    """Messages with a time word count more if the question asks for a time."""
    if not WHEN.search(q.text):
        return own
    with_time = {at for at in own if TIME.search(str(q.conversation.messages[at]["content"]))}
    return {at: score * (1.3 if at in with_time else 1.0) for at, score in own.items()}


def with_first_word(q: Question, own: Scores) -> Scores:
    """Messages that begin with a word of the question, as `Name: text` does, count more."""
    words = set(re.findall(r"\w+", q.text.lower()))
    first = {at: re.match(r"\w*", str(q.conversation.messages[at]["content"]).lower())[0] for at in own}
    return {at: score * (1.1 if first[at] in words else 1.0) for at, score in own.items()}


def with_synapses(q: Question, own: Scores, scores: Scores) -> Scores:
    """Adds a part of the best own score among the linked messages."""
    linked = {at: max([own.get(to, 0.0) for to in q.conversation.synapses.get(at, [])] or [0.0]) for at in scores}
    return {at: score + 0.2 * linked[at] for at, score in scores.items()}


def by_fts5(questions: list[Question], tokenizer: str) -> list[Ranking]:
    """SQLite's own ranking by words."""
    tables: dict[str, sqlite3.Connection] = {}
    rankings = []
    for q in questions:
        if q.instance not in tables:
            tables[q.instance] = sqlite3.connect(":memory:")
            tables[q.instance].execute(f"CREATE VIRTUAL TABLE message USING fts5(content, tokenize = '{tokenizer}')")
            rows = [(at, str(message["content"])) for at, message in enumerate(q.conversation.messages)]
            tables[q.instance].executemany("INSERT INTO message (rowid, content) VALUES (?, ?)", rows)
        terms = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", q.text))
        sql = "SELECT rowid FROM message WHERE message MATCH ? ORDER BY rank, rowid DESC LIMIT ?"
        rankings.append([row[0] for row in tables[q.instance].execute(sql, (terms, FIRST_HITS))])
    return rankings


def ways(synapses: bool) -> dict[str, Callable[[Question], Scores]]:
    def own(q: Question) -> Scores:
        return with_dates(q, with_roles(q, fused(q)))

    all_of_them: dict[str, Callable[[Question], Scores]] = {
        "words alone": lambda q: q.keyword,
        "cosine alone": lambda q: q.cosine,
        "both": fused,
        "both, by roles": lambda q: with_roles(q, fused(q)),
        "and neighbours at one step": lambda q: spread(
            q, with_roles(q, fused(q)), NEIGHBOUR_WEIGHT[:1], answered=0.0
        ),
        "and at two steps": lambda q: spread(q, with_roles(q, fused(q)), answered=0.0),
        "and what asks lends more": lambda q: spread(q, with_roles(q, fused(q))),
        "and dates: hybrid.rs": lambda q: spread(q, own(q)),
        "  sum of the neighbours, not the better": lambda q: spread(q, own(q), join=sum),
        "  long messages are lent as much": lambda q: spread(q, own(q), by_length=False),
        "  without roles": lambda q: spread(q, with_dates(q, fused(q))),
        "  words and neighbours": lambda q: spread(q, with_dates(q, with_roles(q, fused(q, 0.0)))),
        "  reciprocal rank fusion": lambda q: spread(q, with_dates(q, reciprocal(q))),
        "  newer a little before older": lambda q: with_recency(q, spread(q, own(q))),
        "  time words, if asked when": lambda q: spread(q, with_time_words(q, own(q))),
        "  first word, if in the question": lambda q: spread(q, with_first_word(q, own(q))),
    }
    if synapses:
        all_of_them["  synapses lend too"] = lambda q: with_synapses(q, own(q), spread(q, own(q)))
    return all_of_them


# What is recalled.

# The part of an account that a rule keeps, and the settings of the account: RSV_ENRICH_SELECTIVE, and the members that
# name the scope, which is the reach.
Parts = Callable[[dict], List[dict]]
INSTANCE, PARTITION = ("partition", "instance"), ("partition",)
AS_DOCUMENTED, SELECTIVE, WIDE = ("false", INSTANCE), ("true", INSTANCE), ("true", PARTITION)
RULES: dict[str, tuple[tuple[str, tuple[str, ...]], Parts]] = {
    "15 related and 15 recent messages": (AS_DOCUMENTED, lambda a: a["recalled"] + a["recent"]),
    "  the related ones": (AS_DOCUMENTED, lambda a: a["recalled"]),
    "  the related ones without those by links": (AS_DOCUMENTED, lambda a: [p for p in a["recalled"] if "hop" not in p]),
    "  and the last 2": (AS_DOCUMENTED, lambda a: a["recalled"] + a["recent"][:2]),
    "selective: what ships": (SELECTIVE, lambda a: a["recalled"] + a["recent"]),
    "  the related ones of these": (SELECTIVE, lambda a: a["recalled"]),
    "  related ones of the whole partition": (WIDE, lambda a: a["recalled"]),
}


def accounts(questions: list[Question], selective: str, members: tuple[str, ...]) -> list[dict]:
    """What rsv-enrich recalls for each question in a new conversation."""
    lines = []
    for q in questions:
        scope = {name: q.conversation.messages[0][name] for name in members}
        request = {"model": "gpt-4o", "messages": [{"role": "user", "content": q.text}], "rsv": scope}
        lines.append(json.dumps(request))
    os.environ["RSV_ENRICH_SELECTIVE"] = selective
    return [line["rsv"]["account"] for line in run("rsv-enrich", given="\n".join(lines))]


def print_recalled(answered: list[Question], strange: list[Question]) -> None:
    """The share of the questions of which a turn with the answer is recalled, the messages and tokens of a prompt,
    and the related messages that questions of another conversation get."""
    print(f"\n{'recalled by rsv-enrich':<42}{'evidence':>10}{'messages':>10}{'tokens':>8}", end="")
    print(f"{'asked elsewhere: median':>26}{'mean':>6}{'none':>8}")
    of = {how: (accounts(answered, *how), accounts(strange, *how)) for how in (AS_DOCUMENTED, SELECTIVE, WIDE)}
    for rule, (how, parts) in RULES.items():
        own, elsewhere = of[how]
        kept = [parts(account) for account in own]
        # A message of another conversation is none of the evidence.
        places = [[q.conversation.place.get(part["id"]) for part in some] for q, some in zip(answered, kept)]
        reached = percent([any(at in q.evidence for at in some) for q, some in zip(answered, places)])
        messages = statistics.mean(len(some) for some in kept)
        tokens = statistics.mean(sum(part["tokens"] for part in some) for some in kept)
        related = [len([part for part in parts(account) if part in account["recalled"]]) for account in elsewhere]
        print(f"{rule:<42}{reached:>8.1f} %{messages:>10.1f}{tokens:>8.0f}", end="")
        if related:
            none = percent([count == 0 for count in related])
            print(f"{statistics.median(related):>26.0f}{statistics.mean(related):>6.1f}{none:>6.0f} %", end="")
        print(flush=True)


# The output.


def percent(those: list[bool]) -> float:
    return 100 * sum(those) / max(1, len(those))


def print_heading(name: str) -> None:
    print(f"\n{name:<42}{'hit@1':>7}{'hit@5':>7}{'hit@10':>7}{'MRR@10':>8}   hit@5/hit@10 of each conversation")


def print_row(name: str, questions: list[Question], rankings: list[Ranking]) -> None:
    ranks = []
    for question, ranking in zip(questions, rankings):
        ranks.append(next((n for n, at in enumerate(ranking[:FIRST_HITS], 1) if at in question.evidence), 99))
    each = []
    for instance in dict.fromkeys(question.instance for question in questions):
        own = [rank for question, rank in zip(questions, ranks) if question.instance == instance]
        each.append(f"{percent([r <= 5 for r in own]):.1f}/{percent([r <= 10 for r in own]):.1f}")
    hits = "".join(f"{percent([rank <= most for rank in ranks]):7.1f}" for most in (1, 5, 10))
    mrr = sum(1 / rank for rank in ranks if rank <= FIRST_HITS) / max(1, len(ranks))
    print(f"{name:<42}{hits}{mrr:8.3f}   {'  '.join(each)}", flush=True)


def print_unanswered(name: str, questions: list[Question], floor: float) -> None:
    passing, hybrid = [0] * len(questions), [0] * len(questions)
    for number, hit in search(questions, FIRST_HITS, "--semantic"):
        passing[number] += hit["why"]["similarity"] >= floor
    for number, _ in search(questions, FIRST_HITS, "--hybrid"):
        hybrid[number] += 1
    count = max(1, len(questions))
    mean, none = sum(passing) / count, percent([n == 0 for n in passing])
    print(f"{name:<42}{len(questions):>10}{mean:>12.1f}{none:>11.1f} %{sum(hybrid) / count:>13.1f}", flush=True)


def main(folder: Path) -> None:
    questions = read(folder)
    model, floor = floor_of_model()
    answered = [question for question in questions if question.evidence]

    print(f"{len(answered)} questions, {model}, floor {floor}")
    print_heading("what ships")
    flags = [["--semantic"], ["--hybrid"]]
    if "--link" in subprocess.run(["rsv-search", "--help"], capture_output=True, text=True).stdout:
        flags.append(["--hybrid", "--link"])
    for some in flags:
        print_row("rsv-search " + " ".join(some), answered, ranking_of(answered, *some))

    print_heading("ranked otherwise")
    for tokenizer in ("unicode61", "porter unicode61"):
        print_row(f"FTS5, {tokenizer}", answered, by_fts5(answered, tokenizer))
    synapses = any(question.conversation.synapses for question in answered)
    for name, way in ways(synapses).items():
        rankings = [best({at: score for at, score in way(q).items() if score > 0}) for q in answered]
        print_row(name, answered, rankings)

    # Each conversation is asked the questions of the next.
    conversations = list({question.instance: question.conversation for question in questions}.values())
    next_one = {id(a): b for a, b in zip(conversations, conversations[1:] + conversations[:1])}
    strange = [Question(q.text, q.instance, next_one[id(q.conversation)], set(), True) for q in answered]
    print(f"\n{'of the first 10 hits':<42}{'questions':>10}{'over floor':>12}{'none over':>13}{'of hybrid':>13}")
    print_unanswered("what was said answers them", [q for q in questions if not q.adversarial], floor)
    print_unanswered("what was said only resembles it", [q for q in questions if q.adversarial], floor)
    if len(conversations) > 1:
        print_unanswered("asked of another conversation", strange, floor)
    print_recalled(answered, strange if len(conversations) > 1 else [])


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("recall.py: error: the conversations are missing\nrecall.py: hint: scripts/bench recall --data DIR")
    main(Path(sys.argv[1]))
