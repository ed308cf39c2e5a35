#!/usr/bin/env python3
"""Measures how much of a request a provider finds in its prefix cache, by the placement of the recall.

cache.py ADDRESS [TURNS]    ADDRESS: a llama.cpp server, http://127.0.0.1:PORT; a small model is enough

Runs the pipe from PATH, in a home of its own, over a conversation whose client resends its history. The numbers
are the server's: usage.prompt_tokens and usage.prompt_tokens_details.cached_tokens, of every turn but the first.
"""
import json
import os
import subprocess
import sys
import tempfile

PLACES = "burrow nest den".split()
ANIMALS = "owl heron badger otter lynx marten viper salmon beaver swift".split()


def piped(home, address, words, text, tools):
    environment = {"HOME": home, "PATH": os.environ["PATH"], "RSV_OLLAMA_BASE_URL": address}
    for tool, own in tools:
        ran = subprocess.run([tool, *own, *words], input=text, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        text = ran.stdout
    return text


def converse(address, words, turns):
    """The tokens of each turn's prompt, and how many of them the server had read before."""
    with tempfile.TemporaryDirectory() as home:
        facts = ((animal, place, n) for place in PLACES for n, animal in enumerate(ANIMALS))
        messages = ({"role": "user", "content": f"The {animal} has its {place} in valley {n}",
                     "trace_id": f"{place}{n}", "timestamp": 1_700_000_000_000 + n} for animal, place, n in facts)
        piped(home, address, ["-p", "w"], "\n".join(map(json.dumps, messages)), [("rsv-ingest", [])])
        # The process id makes the prompt new, so that the server has nothing of it in its cache.
        history = [{"role": "system", "content": f"{words} {os.getpid()}: you know every animal of these valleys."}]
        for turn in range(turns):
            animal = ANIMALS[turn % 10]
            history.append({"role": "user", "content": f"{turn}: where does the {animal} live?"})
            request = json.dumps({"model": "llama3.1", "max_tokens": 8, "messages": history})
            answer = json.loads(piped(home, address, [], request, [
                ("rsv-enrich", ["-p", "w", *words]), ("rsv-forward", []), ("rsv-ingest", [])]))
            usage = answer["usage"]
            yield usage["prompt_tokens"], usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
            # The same words in every run, so that their numbers can be compared.
            history.append({"role": "assistant", "content": f"The {animal} lives in valley {turn % 10}."})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    address, turns = sys.argv[1].rstrip("/"), int((sys.argv[2:] or [20])[0])
    own = None
    for words in [["--recall", "none"], *(["--placement", place] for place in ["tail", "system", "head"])]:
        rows = list(converse(address, words, turns))
        own = own or [tokens for tokens, _ in rows]
        tokens, cached = (sum(column) for column in zip(*rows[1:]))
        kept = sum(rows[n][1] >= own[n - 2] for n in range(2, turns))
        print(f"{' '.join(words):18} {cached:6} of {tokens:6} tokens from the cache, {100 * cached / tokens:5.1f} %; all up to "
              f"the question before the last but one in {kept} of {turns - 2} turns", flush=True)
