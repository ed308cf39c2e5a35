#!/usr/bin/env python3
"""Measures what the chat backend adds to an answer, for `scripts/bench chat`.

    chat-load.py

The tools of the PATH work on the store of RSV_STORE, which must be empty. rsv-proxy stands before a provider of this
script, which answers at once. Requests to the provider itself, to /v1/chat/completions and to /api/ai/chat alternate; both
routes recall the same things, of the same partition. Times are in milliseconds, medians and 95th percentiles.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import time
from typing import Awaitable, Callable, Dict, List, Tuple

MESSAGES = 10_000
ROUNDS = int(os.environ.get("RSV_BENCH_RUNS", "21")) * 10
STREAMS = 200
TURNS = 100
COMMITS = 11
RECALL = "similar,recent,memories,documents"
CHUNKS = 20
PAUSE = 0.02


def words(seed: int, count: int) -> str:
    """This many of 3 000 words, chosen by a number."""
    return " ".join(f"w{(seed * 31 + at + 1) * 7919 % 3001}" for at in range(count))


# The provider.

LAST: Dict[str, bytes] = {}
"""The last request to it, which it returns at this path: /last."""


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = re.search(r"content-length: (\d+)", head)
            text = await reader.readexactly(int(length[1]) if length else 0)
            body = json.loads(text or "{}")
            LAST["asked"] = text if "messages" in body else LAST.get("asked", b"")
            if head.startswith("post /last "):
                head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(LAST['asked'])}\r\n\r\n"
                writer.write(head.encode() + LAST["asked"])
            elif "messages" not in body:
                # The proxy asks for the window of a model.
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            elif body.get("stream"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in range(CHUNKS):
                    piece = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "word "}}]}
                    event = f"data: {json.dumps(piece)}\n\n"
                    writer.write(f"{len(event):x}\r\n{event}\r\n".encode())
                writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
            else:
                message = {"role": "assistant", "content": "At nine."}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                whole = json.dumps({"object": "chat.completion", "choices": [choice]}).encode()
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(whole)}\r\n\r\n"
                writer.write(head.encode() + whole)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def provide(port: multiprocessing.Queue) -> None:
    async def serve() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())


# The client.


class Client:
    """A connection that is kept."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def open(self) -> "Client":
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def post(self, path: str, body: dict, first: bytes = b"") -> Tuple[float, bytes]:
        """The milliseconds until `first` has arrived, or all of the answer; and the answer."""
        text = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        begin = time.perf_counter()
        self.writer.write(head.encode() + text)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = re.search(r"content-length: (\d+)", head)
        if length:
            whole, taken = await self.reader.readexactly(int(length[1])), None
        else:
            whole, taken = b"", None
            while True:
                size = int(await self.reader.readuntil(b"\r\n"), 16)
                whole += (await self.reader.readexactly(size + 2))[:-2]
                if taken is None and first and first in whole:
                    taken = time.perf_counter() - begin
                if size == 0:
                    break
        if " 200 " not in head.split("\r\n")[0]:
            sys.exit(f"chat-load.py: error: {path} answers {head.splitlines()[0]}: {whole[:300]!r}")
        return 1000 * (taken or time.perf_counter() - begin), whole


Target = Callable[[int, bool], Awaitable[Tuple[float, bytes]]]


async def targets(provider: int, proxy: int) -> Dict[str, Target]:
    """A question by its number to each, streamed or not."""
    direct, completions, chat = [await Client(port).open() for port in (provider, proxy, proxy)]

    def completion(client: Client, path: str) -> Target:
        def ask(number: int, stream: bool) -> Awaitable[Tuple[float, bytes]]:
            messages = [{"role": "user", "content": words(number, 4)}]
            body = {"model": "llama3.1", "stream": stream, "messages": messages}
            return client.post(path, body, b'"content"')

        return ask

    def say(number: int, stream: bool) -> Awaitable[Tuple[float, bytes]]:
        body = {"model": "llama3.1", "message": words(number, 4), "session_id": "s"}
        path = "/partition/bench/api/ai/chat" + ("/stream" if stream else "")
        return chat.post(path, body, b"event: token")

    return {
        "provider": completion(direct, "/v1/chat/completions"),
        "completions": completion(completions, "/partition/bench/instance/s/v1/chat/completions"),
        "chat": say,
    }


async def check_recall(asked: Dict[str, Target], provider: int) -> None:
    """Both routes must send the provider what each kind of RECALL has, and the same of it; the chat has the last messages
    of its session as turns."""
    client, question = await Client(provider).open(), 7
    quoted = {}
    for target, ask in asked.items():
        await ask(question, False)
        last = json.loads((await client.post("/last", {}))[1])["messages"][-1]["content"]
        quoted[target] = {line[2:] for line in last.splitlines() if line.startswith("> ")}
        blocks = last.count("<rsv-memory>")
        if blocks != (0 if target == "provider" else 3):
            sys.exit(f"chat-load.py: error: {target} recalls messages, memories and documents in {blocks} blocks, not 3")
    # The turn of the one before is a message too.
    more = quoted["chat"] - quoted["completions"] - {words(question, 4), "At nine."}
    if more:
        sys.exit(f"chat-load.py: error: the chat recalls what completions do not: {sorted(more)}")


def quantile(numbers: List[float], share: float) -> float:
    return sorted(numbers)[int(share * (len(numbers) - 1))]


async def compare(name: str, asked: Dict[str, Target], stream: bool, first: int) -> None:
    times: Dict[str, List[float]] = {target: [] for target in asked}
    # A turn waits for the one before it to be stored: there is a pause for that, and each follows each of the others
    # equally often.
    orders = list(itertools.permutations(asked))
    for number in range(ROUNDS):
        for target in orders[number % len(orders)]:
            await asyncio.sleep(PAUSE)
            taken, _ = await asked[target](first + number, stream)
            if number >= ROUNDS // 10:
                times[target].append(taken)
    row = "".join(f"{quantile(taken, 0.5):8.2f}{quantile(taken, 0.95):8.2f}" for taken in times.values())
    more = statistics.median(b - a for a, b in zip(times["completions"], times["chat"]))
    print(f"{name:<34}{row}{more:10.2f}{2.0 if not stream else 0.0:8.1f}", flush=True)


async def streams_at_once(proxy: int) -> None:
    async def one(number: int) -> bool:
        client = await Client(proxy).open()
        body = {"model": "llama3.1", "message": words(number, 4), "session_id": f"at-once-{number}"}
        _, whole = await client.post("/partition/many/api/ai/chat/stream", body)
        client.writer.close()
        return b"event: done" in whole and b"openviking_error" not in whole

    begin = time.perf_counter()
    done = await asyncio.gather(*(one(number) for number in range(STREAMS)))
    taken = time.perf_counter() - begin
    print(f"{STREAMS} streams at once: {sum(done)} whole and with memory, in {taken:.2f} s")


async def commits(proxy: int) -> None:
    """The time of a commit of this many turns, by rule and without an encoder."""
    client = await Client(proxy).open()
    taken = []
    for session in range(COMMITS):
        lines = [
            {"role": role, "content": f"I prefer {words(turn + session, 3)}." if turn % 10 == 0 else words(turn, 30)}
            for turn in range(TURNS)
            for role in ("user", "assistant")
        ]
        ingest("commits", f"s{session}", lines)
        milliseconds, body = await client.post(f"/partition/commits/api/sessions/s{session}/commit", {})
        if b'"committed"' not in body:
            sys.exit(f"chat-load.py: error: the commit answers {body!r}")
        taken.append(milliseconds)
    print(f"a commit of {TURNS} turns by rule: {statistics.median(taken):.1f} ms, at most {max(taken):.1f} (goal 100)")


def ingest(partition: str, instance: str, lines: List[dict]) -> None:
    given = "".join(json.dumps(line) + "\n" for line in lines)
    command = ["rsv-ingest", "--quiet", "-p", partition, "-i", instance]
    subprocess.run(command, input=given, text=True, check=True, stdout=subprocess.DEVNULL)


def fill() -> None:
    """Messages, memories and documents to recall."""
    lines = [{"role": ("user", "assistant")[n % 2], "content": words(n, 12)} for n in range(MESSAGES)]
    lines += [
        {"kind": "memory", "title": words(n, 3), "content": words(n, 12), "outcome": "success", "partition": "bench"}
        for n in range(100)
    ]
    target = "viking://resources/users/bench/documents"
    lines += [
        {"kind": "document", "uri": f"{target}/d{n}", "title": words(n, 3), "content": words(n, 40)} for n in range(100)
    ]
    ingest("bench", "s", lines)


async def measure(provider: int, proxy: int) -> None:
    asked = await targets(provider, proxy)
    await check_recall(asked, provider)
    columns = "".join(f"{target:>16}" for target in asked)
    print(f"{'p50 p95 in ms, one client':<34}{columns}{'more':>10}{'goal':>8}")
    await compare("whole", asked, False, 0)
    await compare("streamed, the first token", asked, True, ROUNDS)
    await streams_at_once(proxy)
    await commits(proxy)


def main() -> None:
    port: multiprocessing.Queue = multiprocessing.Queue()
    provider = multiprocessing.Process(target=provide, args=(port,), daemon=True)
    provider.start()
    provided = port.get()
    fill()
    environment = {
        **os.environ,
        "RSV_OLLAMA_BASE_URL": f"http://127.0.0.1:{provided}",
        "RSV_ENRICH_RECALL": RECALL,
        "RSV_CHAT_RECALL": RECALL,
        "RSV_ENRICH_MEMORIES": "5",
        "RSV_ENRICH_TARGET": "viking://resources/users/bench",
        "RSV_SESSION_COMMIT_TURNS": "0",
        "RSV_SESSION_COMMIT_TOKENS": "0",
    }
    proxy = subprocess.Popen(["rsv-proxy", "--port", "0"], stderr=subprocess.PIPE, text=True, env=environment)
    try:
        line = proxy.stderr.readline()
        asyncio.run(measure(provided, int(line.strip().rsplit(":", 1)[1])))
    finally:
        proxy.terminate()
        proxy.wait()
        provider.terminate()


if __name__ == "__main__":
    main()
