#!/usr/bin/env python3
"""Makes the data of `scripts/bench tree` from a manual in HTML: its documents, and questions with the documents that
answer them.

    manuals.py index NAME DIRECTORY INDEX... --into DATA      questions from the entries of a printed index
    manuals.py headings NAME DIRECTORY --into DATA            questions from the first sentences below headings

DIRECTORY has the pages of the manual; an INDEX among them is no document. rsv-parse of the PATH reads them. A question
from an index is an entry with those above it; its answers are the nodes of the section that the entry names: those of its
page that have the section's title as a title or a heading, else all nodes of the page. A question from a heading is the
first sentence of a node, of at least 6 words; its answers are the nodes that have it. NAME.documents.jsonl and
NAME.questions.jsonl, with at most 400 questions, are written to DATA.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path
from typing import Dict, List, Set, Tuple

QUESTIONS = 400
MIN_WORDS = 6


class Index(HTMLParser):
    """The entries of an index: words, page, title of the section. DocBook nests lists of terms, whose links have the class
    `indexterm` and the title as their text. In an index by Texinfo, the link is the entry, and leads to `#index-...`."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: List[Tuple[str, str, str]] = []
        self.terms: List[str] = []
        self.link = ""
        self.is_entry = False
        self.title = ""

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if tag == "dl":
            self.terms.append("")
        elif tag == "dt" and self.terms:
            self.terms[-1] = ""
        elif tag == "a" and named.get("href"):
            self.is_entry = "#index-" in named["href"]
            is_term = named.get("class") == "indexterm"
            self.link, self.title = (named["href"] if self.is_entry or is_term else ""), ""

    def handle_endtag(self, tag):
        if tag == "dl" and self.terms:
            self.terms.pop()
        elif tag == "a" and self.link:
            page = urllib.parse.unquote(self.link.partition("#")[0])
            anchor = self.link.partition("#")[2]
            words = self.title if self.is_entry else " ".join(self.terms)
            section = self.title if anchor and not self.is_entry else ""
            self.entries.append((spaced(words.replace(",", " ")), page, spaced(section)))
            self.link = ""

    def handle_data(self, data):
        if self.link:
            self.title += data
        elif self.terms:
            self.terms[-1] += data


def spaced(text: str) -> str:
    return " ".join(text.split())


def documents(directory: Path, without: Set[str], name: str) -> List[dict]:
    """The nodes of the pages."""
    with tempfile.TemporaryDirectory() as copy:
        pages = Path(copy) / name
        pages.mkdir()
        for page in directory.glob("*.html"):
            if page.name not in without:
                shutil.copy(page, pages)
        command = ["rsv-parse", str(pages), "--to", f"viking://resources/{name}"]
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    return [line for line in lines if line["kind"] == "document"]


def by_page(nodes: List[dict]) -> Dict[str, List[dict]]:
    pages: Dict[str, List[dict]] = {}
    for node in nodes:
        if node.get("source", "").endswith(".html"):
            pages.setdefault(node["source"].rsplit("/", 1)[-1], []).append(node)
    return pages


def has_title(node: dict, title: str) -> bool:
    headings = [node["title"]] + re.findall(r"^#+ (.*)$", node.get("content", ""), re.M)
    return any(title.casefold() in heading.casefold() for heading in headings)


def from_index(nodes: List[dict], indexes: List[Path]) -> Dict[str, Set[str]]:
    pages = by_page(nodes)
    questions: Dict[str, Set[str]] = {}
    for index in indexes:
        parser = Index()
        parser.feed(index.read_text(encoding="utf-8", errors="replace"))
        for words, page, title in parser.entries:
            if not re.search(r"\w\w", words) or page not in pages:
                continue
            section = [node for node in pages[page] if title and has_title(node, title)]
            questions.setdefault(words, set()).update(node["uri"] for node in section or pages[page])
    return questions


def from_headings(nodes: List[dict]) -> Dict[str, Set[str]]:
    texts = {node["uri"]: spaced(" ".join(node.get(m, "") for m in ("overview", "content"))) for node in nodes}
    questions: Dict[str, Set[str]] = {}
    for node in nodes:
        sentence = re.match(r"[^.?!]*[.?!](?=\s|$)", spaced(node.get("abstract", "")))
        if "children" in node or not sentence or len(sentence[0].split()) < MIN_WORDS:
            continue
        having = {uri for uri, text in texts.items() if sentence[0] in text}
        if having:
            questions[sentence[0]] = having
    return questions


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["index", "headings"])
    parser.add_argument("name")
    parser.add_argument("directory", type=Path)
    parser.add_argument("index", type=Path, nargs="*")
    parser.add_argument("--into", type=Path, required=True)
    given = parser.parse_args()
    nodes = documents(given.directory, {index.name for index in given.index}, given.name)
    found = from_index(nodes, given.index) if given.kind == "index" else from_headings(nodes)
    if not found:
        sys.exit(f"manuals.py: error: {given.directory} gives no questions")
    chosen = random.Random(1).sample(sorted(found), min(QUESTIONS, len(found)))
    given.into.mkdir(parents=True, exist_ok=True)
    for kind, lines in (
        ("documents", nodes),
        ("questions", [{"query": words, "evidence": sorted(found[words])} for words in chosen]),
    ):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (given.into / f"{given.name}.{kind}.jsonl").write_text(text, encoding="utf-8")
    print(f"{given.name}: {len(nodes)} documents, {len(found)} questions, of which {len(chosen)} are asked")


if __name__ == "__main__":
    main()
