#!/usr/bin/env python3
"""Measures whether sessions and their commits help to answer questions: the evaluation of `scripts/bench chat --data`.

    chat.py DIR

DIR has conversations as NAME.messages.jsonl and their questions as NAME.questions.jsonl; scripts/bench describes them.
The trace ids of a conversation begin with the day on which a message was said, as in D3:7. The tools of the PATH work on
the store of RSV_STORE, which must be empty. Each conversation is fed twice, day by day, each day but the last followed by
a commit by rule: as one session in which all was said, and with a session for each day. Then, right after the last
message, the last session is asked the questions that were answered before the last day.

A question is reached by what the prompt has of it: a message that answers it, or an archive or a memory that was
extracted from one. In brackets is the share if an archive counts for every message that it covers, whether or not it has
words of it. The tokens are those of the prompt beside the question, the last messages of the session among them; a
budget limits all but these.
"""

from __future__ import annotations

import collections
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

MODEL = "gpt-4o"
WINDOW = 128_000
# The greatest number of tokens that are recalled; None for no more limit than that of the settings.
BUDGETS = (None, 1000)
RECENT = ("--recent", "10")
SESSION = (*RECENT, "--memories", "5")
# The kinds of recall, and whether the session continues.
WAYS: Dict[str, Tuple[bool, List[str]]] = {
    "plain recall: similar,recent": (False, []),
    "session: recent": (True, ["--recall", "recent", *SESSION]),
    "  recent,memories": (True, ["--recall", "recent,memories", *SESSION]),
    "  recent,memories,archives": (True, ["--recall", "recent,memories,archives", *SESSION]),
    "  recent,similar": (True, ["--recall", "recent,similar", *SESSION]),
    "  recent,similar,memories": (True, ["--recall", "recent,similar,memories", *SESSION]),
    "  recent,similar,memories,archives": (True, ["--recall", "recent,similar,memories,archives", *SESSION]),
}


def run(*command: str, given: str = "") -> Iterator[dict]:
    """The lines that a tool prints. Exit status 1 is an answer too."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as lines:
        lines.write(given)
        lines.seek(0)
        with subprocess.Popen(command, stdin=lines, stdout=subprocess.PIPE, text=True) as tool:
            yield from (json.loads(line) for line in tool.stdout)
    if tool.returncode > 1:
        sys.exit(f"chat.py: error: {' '.join(command)} ended with {tool.returncode}")


def jsonl(lines: List[dict]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def day_of(trace: str) -> int:
    return int(re.match(r"D(\d+):", trace)[1])


class Layout:
    """The conversations in one store, and how their days are called."""

    def __init__(self, name: str, prefix: str, by_day: bool) -> None:
        self.name, self.prefix, self.by_day = name, prefix, by_day
        self.last_session: Dict[str, str] = {}
        self.asked_at: Dict[str, str] = {}

    def partition(self, conversation: str) -> str:
        return f"{self.prefix}-{conversation}"

    def session(self, day: int) -> str:
        return f"day-{day}" if self.by_day else "session"

    def feed(self, conversation: str, messages: List[dict]) -> None:
        """Stores each day, and commits each but the last."""
        days = collections.defaultdict(list)
        for message in messages:
            days[day_of(message["trace_id"])].append(message)
        partition = self.partition(conversation)
        for number, (day, said) in enumerate(sorted(days.items()), 1):
            scope = {"partition": partition, "instance": self.session(day)}
            os.environ["RSV_TEST_NOW"] = after(said[-1])
            for _ in run("rsv-import", "--quiet", given=jsonl([{**message, **scope} for message in said])):
                pass
            self.last_session[conversation] = scope["instance"]
            self.asked_at[conversation] = after(said[-1])
            if number < len(days):
                commit(partition, scope["instance"])


def after(message: dict) -> str:
    """A minute later."""
    then = datetime.datetime.fromisoformat(message["timestamp"].replace("Z", "+00:00"))
    return (then + datetime.timedelta(minutes=1)).isoformat().replace("+00:00", "Z")


def commit(partition: str, session: str) -> None:
    lines: List[dict] = list(run("rsv-view", "--uncommitted", "-p", partition, "-i", session))
    for tool in (["rsv-distill", "--commit"], ["rsv-link", "--near"], ["rsv-merge"], ["rsv-ingest", "--quiet"]):
        lines = list(run(*tool, given=jsonl(lines)))


class Sources:
    """Which messages the records of a store were made of."""

    def __init__(self) -> None:
        self.messages: Dict[Tuple[str, str], str] = {}
        self.texts: Dict[Tuple[str, str], str] = {}
        self.extracted: Dict[str, Set[str]] = collections.defaultdict(set)
        self.covered: Dict[str, Set[str]] = {}
        for record in run("rsv-export"):
            if record["kind"] == "message":
                self.messages[record["partition"], record["trace_id"]] = record["id"]
                self.texts[record["partition"], str(record["content"])] = record["id"]
            elif record["kind"] == "document":
                self.covered[record["id"]] = set(record.get("covers", []))
            elif record["kind"] == "link" and record["rel"] == "EXTRACTED_FROM":
                self.extracted[record["from"]].add(record["to"])

    def reached(self, line: dict) -> Tuple[Set[str], Set[str]]:
        """The messages of which a prompt has something; and those that its archives cover."""
        account, partition = line["rsv"]["account"], line["rsv"]["partition"]
        turns = (self.texts.get((partition, str(turn["content"]))) for turn in line["messages"])
        reached = {turn for turn in turns if turn}
        reached |= {part["id"] for name in ("recalled", "recent") for part in account.get(name, [])}
        covered: Set[str] = set()
        for part in account.get("memories", []) + account.get("documents", []):
            reached |= self.extracted[part["id"]]
            covered |= self.covered.get(part["id"], set())
        return reached, covered


def ask(layout: Layout, questions: Dict[str, List[dict]], way: Tuple[bool, List[str]], budget) -> List[Tuple[dict, dict]]:
    """Each question with its enriched request."""
    is_session, flags = way
    share = 0.25 if budget is None else budget / WINDOW
    os.environ["RSV_ENRICH_SHARE"] = str(share)
    found = []
    for conversation, asked in questions.items():
        session = layout.last_session[conversation]
        scope = ["--session", session] if is_session else ["-i", session]
        os.environ["RSV_TEST_NOW"] = layout.asked_at[conversation]
        lines = [{"model": MODEL, "messages": [{"role": "user", "content": one["question"]}]} for one in asked]
        command = ["rsv-enrich", "-p", layout.partition(conversation), *scope, *flags]
        found += zip(asked, run(*command, given=jsonl(lines)))
    return found


def percent(those: List[bool]) -> float:
    return 100 * sum(those) / max(1, len(those))


def print_ways(layout: Layout, questions: Dict[str, List[dict]], sources: Sources) -> None:
    print(f"\n{layout.name:<36}", end="")
    for budget in BUDGETS:
        print(f"{'budget ' + str(budget) if budget else 'no budget':>24}", end="")
    print()
    bare = [line["rsv"]["account"]["counted"] for _, line in ask(layout, questions, (False, ["--recall", "none"]), None)]
    for name, way in WAYS.items():
        print(f"{name:<36}", end="")
        for budget in BUDGETS:
            direct, covering, tokens = [], [], []
            for (question, line), alone in zip(ask(layout, questions, way, budget), bare):
                reached, covered = sources.reached(line)
                partition = line["rsv"]["partition"]
                evidence = {sources.messages.get((partition, trace)) for trace in question["evidence"]}
                direct.append(bool(evidence & reached))
                covering.append(bool(evidence & (reached | covered)))
                tokens.append(line["rsv"]["account"]["counted"] - alone)
            shown = f"{percent(direct):.1f} % ({percent(covering):.1f}) {statistics.mean(tokens):6.0f}"
            print(f"{shown:>24}", end="", flush=True)
        print()


def main(folder: Path) -> None:
    questions: Dict[str, List[dict]] = {}
    layouts = [Layout("one session", "one", False), Layout("a session a day", "days", True)]
    for path in sorted(folder.glob("*.messages.jsonl")):
        conversation = path.name[: -len(".messages.jsonl")]
        messages = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        last = max(day_of(message["trace_id"]) for message in messages)
        said = {message["trace_id"] for message in messages}
        for layout in layouts:
            layout.feed(conversation, messages)
        asked = path.with_name(conversation + ".questions.jsonl").read_text(encoding="utf-8").splitlines()
        is_early = lambda trace: trace in said and day_of(trace) < last
        early = [one for one in map(json.loads, asked) if one["evidence"] and all(map(is_early, one["evidence"]))]
        questions[conversation] = early
    subprocess.run(["rsv-embed", "--quiet", "--pending"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["rsv-link", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    sources = Sources()
    kinds = collections.Counter(line["kind"] for line in run("rsv-export", "--kind", "memory,document"))
    archives, memories = kinds["document"] // 2, kinds["memory"] // 2
    print(f"{sum(map(len, questions.values()))} questions, {archives} archives, {memories} memories", end="")
    print(": share that is reached (archives by what they cover), tokens")
    for layout in layouts:
        print_ways(layout, questions, sources)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("chat.py: error: the conversations are missing\nchat.py: hint: scripts/bench chat --data DIR")
    main(Path(sys.argv[1]))
