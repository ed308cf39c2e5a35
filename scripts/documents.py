"""Reads Markdown and HTML files as a script would: prints the number of characters of the text of all of them.

Needs markdown-it-py, beautifulsoup4 and lxml.
"""

import sys
from pathlib import Path

from bs4 import BeautifulSoup
from markdown_it import MarkdownIt


def main(directory):
    markdown = MarkdownIt()
    characters = 0
    for path in sorted(Path(directory).rglob("*")):
        if path.suffix == ".md":
            tokens = markdown.parse(path.read_text())
            characters += sum(len(token.content) for token in tokens if token.type in ("inline", "fence", "code_block"))
        elif path.suffix == ".html":
            page = BeautifulSoup(path.read_text(), "lxml")
            for element in page(["nav", "header", "footer", "aside", "script", "style"]):
                element.decompose()
            characters += len(page.get_text(" ", strip=True))
    print(characters)


main(sys.argv[1])
