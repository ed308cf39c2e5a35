#!/usr/bin/env python3
"""Vectors for scripts/bench search: makes them, answers questions with them, and does the same work by numpy.

    vectors.py make COUNT        messages on stdin get vectors, and go to stdout; those after the first COUNT
                                 get the scope `tenth`, and the last hundredth the scope `small`
    vectors.py serve             an embedding server on a free port of this machine, which it prints; a text
                                 gets the question's vector whose number it holds
    vectors.py load FILE         the first COUNT go into the table `stored` of an SQLite database
    vectors.py exact             the ten nearest of the first COUNT of each question, as rows of numbers
    vectors.py recall            of these, the share that the hits on stdin are
    vectors.py product COUNT     seconds for the dot products of all pairs of COUNT vectors, results discarded
    vectors.py synapses COUNT    ends with 1 unless the links on stdin are those of the near pairs of COUNT vectors

Needs numpy. The vectors lie in groups, and lie in files of the working directory.
"""

import base64
import http.server
import json
import re
import sqlite3
import sys
import time

import numpy

DIM = 384
QUESTIONS = 100
TILE = 1024
DEGREE = 32
MODEL = "bench"


def unit(vectors):
    return (vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)).astype(numpy.float32)


def grouped(random, centres, count):
    """Vectors around centres, some near and some far: within a group cosines go from 0.4 to 0.95."""
    around = unit(random.standard_normal((count, DIM), dtype=numpy.float32))
    far = random.uniform(0.2, 1.2, (count, 1)).astype(numpy.float32)
    return unit(centres[random.integers(0, len(centres), count)] + far * around)


def make(count):
    random = numpy.random.default_rng(1)
    centres = unit(random.standard_normal((max(1, count // 100), DIM), dtype=numpy.float32))
    grouped(random, centres, QUESTIONS).tofile("questions.f32")
    total = count + count // 10 + count // 100
    with open("vectors.f32", "wb") as out:
        for begin in range(0, total, TILE):
            vectors = grouped(random, centres, min(TILE, total - begin))
            if begin < count:
                vectors[: count - begin].tofile(out)
            for at, vector in enumerate(vectors, begin):
                line = sys.stdin.readline().rstrip()[:-1]
                if at >= count:
                    scope = "tenth" if at < count + count // 10 else "small"
                    line = line.replace('"instance":"default"', f'"instance":"{scope}"')
                coded = base64.b64encode(vector.tobytes()).decode()
                sys.stdout.write(f'{line},"embedding":"{coded}","embedding_model":"{MODEL}"}}\n')


def read(name):
    return numpy.fromfile(name, dtype=numpy.float32).reshape(-1, DIM)


def serve():
    coded = [base64.b64encode(vector.tobytes()).decode() for vector in read("questions.f32")]

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            numbers = [int((re.findall(r"\d+", text) or [0])[0]) % len(coded) for text in texts]
            data = [{"index": at, "embedding": coded[number]} for at, number in enumerate(numbers)]
            body = json.dumps({"data": data}).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            self.wfile.write(head.encode() + body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def load(name):
    connection = sqlite3.connect(name)
    connection.execute("CREATE TABLE stored (n INTEGER PRIMARY KEY, vector BLOB)")
    rows = ((at, vector.tobytes()) for at, vector in enumerate(read("vectors.f32")))
    connection.executemany("INSERT INTO stored VALUES (?, ?)", rows)
    connection.commit()


def exact():
    cosines = read("questions.f32") @ read("vectors.f32").T
    numpy.savetxt(sys.stdout, numpy.argsort(-cosines, axis=1)[:, :10], fmt="%d")


def recall():
    wanted = [set(map(int, line.split())) for line in open("nearest")]
    found = [set() for _ in wanted]
    for hit in map(json.loads, sys.stdin):
        found[int(hit["query"])].add(number(hit["id"]))
    print(sum(len(a & b) for a, b in zip(wanted, found)) / sum(map(len, wanted)))


def product(count):
    vectors = read("vectors.f32")[:count]
    out = numpy.empty((TILE, len(vectors)), dtype=numpy.float32)
    begun = time.perf_counter()
    for begin in range(0, len(vectors), TILE):
        rows = vectors[begin : begin + TILE]
        # Each pair once: the tiles on the diagonal and to its right.
        numpy.matmul(rows, vectors[begin:].T, out=out[: len(rows), begin:])
    print(time.perf_counter() - begun)


def number(id):
    """The number of a message, which is the last part of its id."""
    return int(id[-12:], 16)


def synapses(count):
    vectors = read("vectors.f32")[:count]
    links = [link for link in map(json.loads, sys.stdin) if link["rel"] == "SYNAPSE"]
    ends = numpy.array([(number(link["from"]), number(link["to"])) for link in links]).reshape(-1, 2)
    scores = numpy.array([link["score"] for link in links])
    if not links or not numpy.allclose((vectors[ends[:, 0]] * vectors[ends[:, 1]]).sum(axis=1), scores, atol=1e-3):
        sys.exit(f"vectors.py: error: {len(links)} synapses, whose scores are not the cosines of their ends")
    # Of the first ones, all that are near enough; a message may have no more than DEGREE, and a stronger synapse takes the
    # place of the weakest: what is among the DEGREE nearest of both ends stays.
    linked = {*map(tuple, ends), *map(tuple, ends[:, ::-1])}
    near = numpy.argwhere(vectors[:TILE] @ vectors.T > scores.min() + 1e-3)
    is_among = lambda a, b: (vectors @ vectors[b] >= vectors[a] @ vectors[b] - 1e-3).sum() <= DEGREE + 1
    lacking = [(a, b) for a, b in near if a != b and (a, b) not in linked and is_among(a, b) and is_among(b, a)]
    if lacking:
        sys.exit(f"vectors.py: error: {len(lacking)} of {len(near)} near pairs have no synapse, such as {lacking[0]}")


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    {"make": make, "serve": serve, "load": load, "exact": exact, "recall": recall, "product": product,
     "synapses": synapses}[what](
        *(int(text) if text.isdigit() else text for text in given)
    )
