"""Sets of conversations with questions, the stores that hold them, and SQLite's FTS5: the data of recall.py."""

from __future__ import annotations

import functools
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Iterable, Iterator, List

# More than the messages of a usual conversation: all of them are hits.
ALL = 2000

# The model for which requests are enriched, and the tokens of its window.
MODEL, WINDOW = "gpt-4", 8192

# A message is identified by its position in its conversation.
Scores = Dict[int, float]
Ranking = List[int]


@dataclass(eq=False)
class Conversation:
    """The messages of one scope in the order of the store."""

    partition: str
    instance: str
    messages: list[dict] = field(default_factory=list)
    place: dict[str, int] = field(default_factory=dict)
    # The lines for rsv-import of each message: itself, its vector, and its synapses with earlier ones.
    lines: list[list[dict]] = field(default_factory=list)

    def add(self, message: dict) -> None:
        self.place[message["id"]] = len(self.messages)
        self.messages.append(message)
        self.lines.append([message])

    @property
    def scope(self) -> dict[str, str]:
        return {"partition": self.partition, "instance": self.instance}

    def text(self, at: int) -> str:
        return str(self.messages[at]["content"])

    def trace(self, at: int) -> str:
        return self.messages[at]["trace_id"]

    @functools.cached_property
    def by_trace(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for at, message in enumerate(self.messages):
            places.setdefault(message["trace_id"], []).append(at)
        return places

    @functools.cached_property
    def words(self) -> WordIndex:
        return WordIndex(self, "porter unicode61")

    @functools.cached_property
    def trigrams(self) -> WordIndex:
        return WordIndex(self, "trigram")


@dataclass(eq=False)
class Question:
    text: str
    conversation: Conversation
    # The traces that answer it, and their sessions if these are named.
    evidence: frozenset[str]
    sessions: frozenset[str]
    category: str
    answer: str
    # Nothing that was said answers it.
    is_unanswerable: bool
    # The number of messages that were there when it was asked.
    before: int

    def query(self, limit: int) -> dict:
        """The query line of rsv-search: among the messages before the question."""
        query = {"kind": "query", "query": self.text, "limit": limit, **self.conversation.scope}
        later = self.conversation.messages[self.before :]
        if later:
            time = later[0]["timestamp"]
            query.update(until=time, exclude=[m["id"] for m in later if m["timestamp"] == time])
        return query

    def rank(self, ranking: Ranking) -> int:
        """The place of the first message of the evidence, from 1."""
        return first_place(self.conversation.trace(at) in self.evidence for at in ranking)

    def session_rank(self, ranking: Ranking) -> int:
        """The same for any message of its sessions, which the traces begin with, as in `s7:12`."""
        return first_place(self.conversation.trace(at).split(":")[0] in self.sessions for at in ranking)


def first_place(matches: Iterable[bool]) -> int:
    return next((place for place, is_match in enumerate(matches, 1) if is_match), sys.maxsize)


def best(scores: Scores) -> Ranking:
    """In order; of equals the newest first."""
    return sorted(scores, key=lambda at: (-scores[at], -at))


# The tools.


class Store:
    """A store in a file, and the tools of the PATH that work on it."""

    def __init__(self, file: Path) -> None:
        self.environment = {**os.environ, "RSV_STORE": f"sqlite:{file}"}

    def run(self, *command: str, given: Iterable[dict] = ()) -> Iterator[dict]:
        """The lines that a tool prints for some lines. Exit status 1 is an answer too."""
        with tempfile.TemporaryFile("w+", encoding="utf-8") as lines:
            lines.writelines(json.dumps(line) + "\n" for line in given)
            lines.seek(0)
            pipe = {"stdout": subprocess.PIPE, "encoding": "utf-8", "env": self.environment}
            with subprocess.Popen(command, stdin=lines, **pipe) as tool:
                yield from map(json.loads, tool.stdout)
        if tool.returncode > 1:
            sys.exit(f"recall.py: error: {' '.join(command)} ended with {tool.returncode}")

    def do(self, *command: str, given: Iterable[dict] = ()) -> None:
        """Runs a tool for its effect."""
        for _ in self.run(*command, given=given):
            pass

    def grow(self, conversation: Conversation, length: int) -> None:
        """Makes sure that the store has this many messages of a conversation; it has all of them."""

    def search(self, questions: list[Question], limit: int, *flags: str) -> list[dict[int, dict]]:
        """The hits of each question by their places, best first."""
        queries = [{**question.query(limit), "id": str(n)} for n, question in enumerate(questions)]
        hits: list[dict[int, dict]] = [{} for _ in questions]
        for hit in self.run("rsv-search", *flags, given=queries):
            if hit["kind"] == "hit":
                n = int(hit["query"])
                hits[n][questions[n].conversation.place[hit["id"]]] = hit["why"]
        return hits


class Enricher:
    """rsv-enrich, which is asked question by question and recalls at most this many tokens: of one conversation or all of
    its partition, what is worth its tokens or all that is related."""

    def __init__(self, store: Store, tokens: int, is_wide: bool = False, is_selective: bool = True) -> None:
        self.is_wide = is_wide
        self.members = ("partition",) if is_wide else ("partition", "instance")
        settings = {
            "RSV_ENRICH_SHARE": str(tokens / WINDOW),
            "RSV_ENRICH_RECALL": "similar",
            "RSV_ENRICH_SELECTIVE": str(is_selective).lower(),
            "RSV_ENRICH_TIMEOUT": "60s",
        }
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8", "bufsize": 1}
        self.tool = subprocess.Popen(["rsv-enrich"], env={**store.environment, **settings}, **pipes)

    def __enter__(self) -> Enricher:
        return self

    def __exit__(self, *_: object) -> None:
        self.tool.stdin.close()
        self.tool.wait()

    def ask(self, question: str, conversation: Conversation) -> tuple[str, list[dict]]:
        """The block of what is recalled, and its parts in the account."""
        scope = {member: conversation.scope[member] for member in self.members}
        request = {"model": MODEL, "messages": [{"role": "user", "content": question}], "rsv": scope}
        self.tool.stdin.write(json.dumps(request) + "\n")
        self.tool.stdin.flush()
        answer = json.loads(self.tool.stdout.readline() or "{}")
        if "messages" not in answer:
            sys.exit(f"recall.py: error: rsv-enrich printed no request for: {question}")
        block = answer["messages"][-1]["content"].rpartition("</rsv-memory>")[0]
        return block, answer["rsv"]["account"].get("recalled", [])


class GrowingStore(Store):
    """A store that has no more than the messages before the question that is asked next."""

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        # A tool that begins before the file is there would never look for it again.
        self.do("rsv-import", "--quiet")
        self.length: dict[Conversation, int] = {}

    def grow(self, conversation: Conversation, length: int) -> None:
        known = self.length.get(conversation, 0)
        if length > known:
            lines = [line for some in conversation.lines[known:length] for line in some]
            self.do("rsv-import", "--quiet", given=lines)
            self.length[conversation] = length


# SQLite's FTS5.


class WordIndex:
    """A conversation in FTS5, which finds any of the words, or of the trigrams."""

    def __init__(self, conversation: Conversation, tokenizer: str) -> None:
        self.has_trigrams = tokenizer == "trigram"
        self.database = sqlite3.connect(":memory:")
        self.database.execute(f"CREATE VIRTUAL TABLE message USING fts5(content, tokenize = '{tokenizer}')")
        rows = [(at, conversation.text(at)) for at in range(len(conversation.messages))]
        self.database.executemany("INSERT INTO message (rowid, content) VALUES (?, ?)", rows)

    def scores(self, question: Question) -> Scores:
        words = re.findall(r"\w+", question.text)
        if self.has_trigrams:
            words = [word[n : n + 3] for word in words for n in range(len(word) - 2)]
        terms = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        sql = "SELECT rowid, -rank FROM message WHERE message MATCH ? AND rowid < ?"
        return dict(self.database.execute(sql, (terms, question.before))) if terms else {}


def fts5(question: Question) -> Scores:
    """By Porter's stems; by trigrams where words have no spaces between them: in Thai, Chinese and Japanese."""
    has_spaces = not re.search(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]", question.text)
    return (question.conversation.words if has_spaces else question.conversation.trigrams).scores(question)


# The sets.


class Set:
    """The conversations of a folder in a store, and the questions about them."""

    def __init__(self, folder: Path, stores: Path) -> None:
        self.name = folder.name
        self.store = Store(stores / "all.db")
        self.growing = GrowingStore(stores / "growing.db")
        self.conversations: dict[tuple[str, str], Conversation] = {}
        files = sorted(folder.glob("*.messages.jsonl"))
        scopes_of = {file.name: self.fill(file) for file in files}
        self.store.do("rsv-embed", "--pending")
        self.store.do("rsv-link")
        self.read_store()
        questions = []
        for file in sorted(folder.glob("*.questions.jsonl")):
            beside = scopes_of.get(file.name.replace(".questions.", ".messages."), set())
            for line in read_lines(file):
                questions += self.questions(line, [self.conversations[scope] for scope in sorted(beside)])
        self.answered = [question for question in questions if question.evidence and not question.is_unanswerable]
        self.unanswerable = [question for question in questions if question.is_unanswerable]

    def fill(self, file: Path) -> set:
        """Imports a file of messages, and returns their scopes."""
        messages = list(read_lines(file))
        self.store.do("rsv-import", "--quiet", given=messages)
        return {(str(m.get("partition", "default")), str(m.get("instance", "default"))) for m in messages}

    def read_store(self) -> None:
        of: dict[str, Conversation] = {}
        for line in self.store.run("rsv-export", "--vectors", "base64"):
            if line["kind"] == "message":
                scope = line["partition"], line["instance"]
                of[line["id"]] = self.conversations.setdefault(scope, Conversation(*scope))
                of[line["id"]].add(line)
            elif line["kind"] == "embedding" and line["of"] in of:
                conversation = of[line["of"]]
                conversation.lines[conversation.place[line["of"]]].append(line)
            elif line["kind"] == "link" and of.get(line["from"]) is of.get(line["to"]) is not None:
                conversation = of[line["to"]]
                conversation.lines[max(conversation.place[line[end]] for end in ("from", "to"))].append(line)

    def questions(self, line: dict, beside: list[Conversation]) -> Iterator[Question]:
        """A question of a file, with the conversations in the file of the same name beside it: for the one that it
        names, or for every one."""
        instance, everywhere = str(line["instance"]), list(self.conversations.values())
        named = [c for c in beside if c.instance == instance] or [c for c in everywhere if c.instance == instance]
        if not named and instance == "all":
            named = beside or everywhere
        category = str(line.get("category", ""))
        for conversation in named:
            asked = conversation.by_trace.get(line.get("asked_at", ""), [len(conversation.messages)])
            yield Question(
                text=line["question"],
                conversation=conversation,
                evidence=frozenset(line["evidence"]),
                sessions=frozenset(line.get("evidence_sessions", [])),
                category=category,
                answer=str(line.get("answer", "")),
                is_unanswerable=category == "abstention" or bool(line.get("abstain")),
                before=asked[0],
            )

    @functools.cached_property
    def next_conversation(self) -> dict[Conversation, Conversation]:
        """For each conversation another one of its partition, if there is one."""
        partitions: dict[str, list[Conversation]] = {}
        for conversation in self.conversations.values():
            partitions.setdefault(conversation.partition, []).append(conversation)
        several = [some for some in partitions.values() if len(some) > 1]
        return {one: other for some in several for one, other in zip(some, some[1:] + some[:1])}


def read_lines(file: Path) -> Iterator[dict]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
