#!/usr/bin/env python3
"""Makes the data of `scripts/bench tree` from a manual in HTML: its documents, and questions with the documents that
answer them.

    manuals.py index NAME DIRECTORY INDEX... --into DATA      questions from the entries of a printed index
    manuals.py headings NAME DIRECTORY --into DATA            questions from the first sentences below headings

DIRECTORY has the pages of the manual; an INDEX among them is no document. rsv-parse of the PATH reads them. A question
from an index is an entry with those above it; its answers are the nodes of the section that the entry names or leads to:
those of its page that have the section's title as a title or a heading, else all nodes of the page. A question from a heading is the
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
    """The entries of an index: words, page, title of the section, anchor. DocBook nests lists of terms, whose links have the
    class `indexterm` and the title as their text. In an index by Texinfo, the link is the entry, and leads to
    `#index-...`. Sphinx nests lists of links in a table, `[1]` being a further place of an entry; the section is that of the
    anchor."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: List[Tuple[str, str, str, str]] = []
        self.is_sphinx = False
        self.terms: List[str] = []
        self.link = ""
        self.is_entry = False
        self.title = ""

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if tag == "table":
            self.is_sphinx = "genindextable" in named.get("class", "")
        elif tag == ("ul" if self.is_sphinx else "dl"):
            self.terms.append("")
        elif tag == ("li" if self.is_sphinx else "dt") and self.terms:
            self.terms[-1] = ""
        elif tag == "a" and named.get("href"):
            self.is_entry = "#index-" in named["href"]
            is_term = named.get("class") == "indexterm"
            is_link = self.is_entry or is_term or self.is_sphinx
            self.link, self.title = (named["href"] if is_link else ""), ""

    def handle_endtag(self, tag):
        if tag == ("ul" if self.is_sphinx else "dl") and self.terms:
            self.terms.pop()
        elif tag == "a" and self.link:
            page = urllib.parse.unquote(self.link.partition("#")[0])
            anchor = self.link.partition("#")[2]
            if self.is_sphinx and self.terms and not re.fullmatch(r"\[\d+\]", self.title):
                self.terms[-1] += " " + self.title
            words = self.title if self.is_entry and not self.is_sphinx else " ".join(self.terms)
            section = self.title if anchor and not self.is_entry and not self.is_sphinx else ""
            anchor = urllib.parse.unquote(anchor) if self.is_sphinx else ""
            self.entries.append((spaced(words.replace(",", " ")), page, spaced(section), anchor))
            self.link = ""

    def handle_data(self, data):
        if self.link:
            self.title += data
        elif self.terms:
            self.terms[-1] += data


class Sections(HTMLParser):
    """The title of the section of each anchor of a page: the heading that follows without words between, else the last
    one before."""

    def __init__(self) -> None:
        super().__init__()
        self.titles: Dict[str, str] = {}
        self.title, self.before = "", ""
        self.pending: List[str] = []
        self.level = ""

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if named.get("id"):
            self.titles[named["id"]] = self.before
            self.pending.append(named["id"])
        if re.fullmatch(r"h[1-6]", tag):
            self.level, self.title = tag, ""

    def handle_endtag(self, tag):
        if tag == self.level:
            self.level, self.before = "", spaced(self.title)
            self.titles.update(dict.fromkeys(self.pending, self.before))
            self.pending = []

    def handle_data(self, data):
        if self.level:
            self.title += data.replace("\u00b6", "")
        elif data.strip():
            self.pending = []


def spaced(text: str) -> str:
    return " ".join(text.split())


def documents(directory: Path, without: Set[str], name: str) -> List[dict]:
    """The nodes of the pages."""
    with tempfile.TemporaryDirectory() as copy:
        pages = Path(copy) / name
        pages.mkdir()
        for page in directory.rglob("*.html"):
            name_of_page = page.relative_to(directory)
            if str(name_of_page) not in without:
                (pages / name_of_page).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(page, pages / name_of_page)
        command = ["rsv-parse", str(pages), "--to", f"viking://resources/{name}"]
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    return [line for line in lines if line["kind"] == "document"]


def by_page(nodes: List[dict], name: str) -> Dict[str, List[dict]]:
    """The nodes of each page, by its path below the directory of the manual."""
    pages: Dict[str, List[dict]] = {}
    for node in nodes:
        if node.get("source", "").endswith(".html"):
            pages.setdefault(node["source"].rpartition(f"/{name}/")[2], []).append(node)
    return pages


def has_title(node: dict, title: str) -> bool:
    headings = [node["title"]] + re.findall(r"^#+ (.*)$", node.get("content", ""), re.M)
    return any(title.casefold() in heading.casefold() for heading in headings)


def sections(page: Path) -> Dict[str, str]:
    parser = Sections()
    parser.feed(page.read_text(encoding="utf-8", errors="replace"))
    return parser.titles


def from_index(nodes: List[dict], directory: Path, name: str, indexes: List[Path]) -> Dict[str, Set[str]]:
    pages = by_page(nodes, name)
    titles: Dict[str, Dict[str, str]] = {}
    questions: Dict[str, Set[str]] = {}
    for index in indexes:
        parser = Index()
        parser.feed(index.read_text(encoding="utf-8", errors="replace"))
        for words, page, title, anchor in parser.entries:
            if not re.search(r"\w\w", words) or page not in pages:
                continue
            if anchor:
                if page not in titles:
                    titles[page] = sections(directory / page)
                title = titles[page].get(anchor, "")
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
    indexes = {str(index.relative_to(given.directory)) for index in given.index}
    nodes = documents(given.directory, indexes, given.name)
    if given.kind == "index":
        found = from_index(nodes, given.directory, given.name, given.index)
    else:
        found = from_headings(nodes)
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
