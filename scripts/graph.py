#!/usr/bin/env python3
"""The operations that scripts/bench neo4j compares with rsv, by the official driver. The server is at RSV_STORE.

    graph.py clear          removes everything, indexes too
    graph.py load FILE      writes messages with vectors as rsv-import does: the same nodes, properties, labels,
                            relations and indexes, by UNWIND; what is there is not looked for
    graph.py turns COUNT    sends the requests on stdin through rsv-enrich, and their answers through rsv-ingest, one
                            after the other; prints the medians in microseconds, of the last hundred, of: the request
                            less what its question's encoder takes, for which a server stands in, the answer, both,
                            `RETURN 1`, a plain vector query, and writing two messages and then two vectors
    graph.py connect        the median of connecting, signing in and `RETURN 1`

Needs neo4j and numpy.
"""

import base64
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse

import neo4j
import numpy

# So many rows go into one statement, and so many into one transaction.
ROWS, BATCH = 2000, 5000
MEASURED = 100

INDEX = """CREATE VECTOR INDEX {} FOR (e:{}) ON (e.embedding) OPTIONS {{indexConfig: {{
    `vector.dimensions`: 384, `vector.similarity_function`: 'cosine', `vector.quantization.enabled`: true}}}}"""
AWAIT = "CALL db.awaitIndexes(300)"
SCHEMA = [
    "CREATE CONSTRAINT record FOR (r:RsvRecord) REQUIRE r.rsv_id IS UNIQUE",
    "CREATE INDEX scope FOR (m:MessageNode) ON (m.partition, m.instance, m.timestamp)",
    "CREATE INDEX time FOR (m:MessageNode) ON (m.timestamp)",
    "CREATE INDEX trace FOR (m:MessageNode) ON (m.trace_id, m.timestamp)",
    """CREATE FULLTEXT INDEX words FOR (m:MessageNode) ON EACH [m.words]
       OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}""",
    INDEX.format("vectors", "RsvVector1"),
    AWAIT,
]
MESSAGES = "UNWIND $rows AS row CREATE (m:MessageNode:RsvRecord) SET m = row"
VECTORS = """UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.of})
    CREATE (r)-[:HAS_EMBEDDING]->(e:RsvVector:RsvVector1:RsvWaiting1:Embedding384) SET e = row.properties
    WITH e, row CALL db.create.setNodeVectorProperty(e, 'embedding', row.vector)"""


def connected():
    return neo4j.GraphDatabase.driver(os.environ["RSV_STORE"], auth=("neo4j", os.environ["NEO4J_PASSWORD"]))


def clear():
    with connected() as driver, driver.session() as session:
        session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 2000 ROWS").consume()
        for kind in "CONSTRAINT", "INDEX":
            for row in session.run(f"SHOW {kind} YIELD name, type WHERE type <> 'LOOKUP' RETURN name").data():
                session.run(f"DROP {kind} {row['name']}").consume()


def load(name):
    with connected() as driver, driver.session() as session, open(name, encoding="utf-8") as lines:
        for statement in SCHEMA:
            session.run(statement).consume()
        numbers = itertools.count()
        while batch := [json.loads(line) for line in itertools.islice(lines, BATCH)]:
            messages, vectors = [], []
            for line in batch:
                vector = numpy.frombuffer(base64.b64decode(line["embedding"]), dtype=numpy.float32).tolist()
                words = set(line["content"].split())
                of = {name: line[name] for name in ("partition", "instance", "timestamp")}
                messages.append(
                    {"rsv_id": line["id"], "trace_id": line["trace_id"], "role": line["role"], "seq": 0}
                    | {"content": line["content"], "n": next(numbers), "embedding": []}
                    | {"words": " ".join(["@1", *words, *("_" + word for word in words)])}
                    | of
                )
                properties = {"model": line["embedding_model"], "n": next(numbers)} | of
                vectors.append({"of": line["id"], "properties": properties, "vector": vector})
            with session.begin_transaction() as transaction:
                for statement, rows in (MESSAGES, messages), (VECTORS, vectors):
                    for at in range(0, len(rows), ROWS):
                        transaction.run(statement, rows=rows[at : at + ROWS]).consume()
                transaction.commit()


def bare(session, at):
    """What a turn writes, in the two transactions that it takes: nothing is asked, and no link made. The vectors go
    into an index of their own, so that they are in nobody's way."""
    names = {"partition": "bare", "instance": "bare", "timestamp": at}
    rows = [{"rsv_id": f"{at}-{side}", "words": f"@0 bare words of {at}"} | names for side in range(2)]
    session.run(MESSAGES, rows=rows).consume()
    vectors = numpy.random.default_rng(at).standard_normal((2, 384)).tolist()
    rows = [{"of": row["rsv_id"], "properties": {}, "vector": vector} for row, vector in zip(rows, vectors)]
    session.run(VECTORS.replace("RsvVector1:RsvWaiting1", "Bare"), rows=rows).consume()


def took(work):
    begun = time.perf_counter()
    done = work()
    return 1e6 * (time.perf_counter() - begun), done


def encoder():
    """What asks the stand-in for the encoder for the vector of a question."""
    place = urllib.parse.urlsplit(os.environ["RSV_EMBED_VIA"])
    connection = socket.create_connection((place.hostname, place.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    answer = connection.makefile("rb")

    def encode(text):
        body = json.dumps({"input": [text]}).encode()
        head = f"POST /v1/embeddings HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        length = 0
        while (line := answer.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        answer.read(length)

    return encode


def turns(count):
    def filter(*command):
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def through(filter, line):
        filter.stdin.write(line.rstrip("\n") + "\n")
        filter.stdin.flush()
        return filter.stdout.readline()

    enrich, ingest, encode = filter("rsv-enrich"), filter("rsv-ingest"), encoder()
    vectors = numpy.fromfile("questions.f32", dtype=numpy.float32).reshape(-1, 384).tolist()
    plain = """CALL db.index.vector.queryNodes($index, 120, $vector) YIELD node, score
        MATCH (m:MessageNode)-[:HAS_EMBEDDING]->(node) RETURN m.rsv_id, m.content, score"""
    times = []
    with connected() as driver, driver.session() as session:
        index = session.run("SHOW VECTOR INDEXES YIELD name").single()["name"]
        for statement in INDEX.format("bare", "Bare"), AWAIT:
            session.run(statement).consume()
        for at, line in enumerate(itertools.islice(sys.stdin, count)):
            asked, request = took(lambda: through(enrich, line))
            rsv = json.loads(request)["rsv"]
            message = {"role": "assistant", "content": f"The answer {at} of {time.time_ns()}."}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [choice]}
            stored, _ = took(lambda: through(ingest, json.dumps(answer | {"rsv": rsv})))
            encoded, _ = took(lambda: encode(json.loads(line)["messages"][-1]["content"]))
            asked -= encoded
            one, _ = took(lambda: session.run("RETURN 1").consume())
            vector = vectors[at % len(vectors)]
            near, _ = took(lambda: session.run(plain, index=index, vector=vector).values())
            written, _ = took(lambda: bare(session, time.time_ns()))
            times.append((asked, stored, asked + stored, one, near, written))
    for tool in enrich, ingest:
        tool.stdin.close()
        tool.wait()
    print(*(round(statistics.median(column)) for column in zip(*times[-MEASURED:])))


def connect():
    def one():
        with connected() as driver, driver.session() as session:
            session.run("RETURN 1").consume()

    print(round(statistics.median(took(one)[0] for _ in range(21))))


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    {"clear": clear, "load": load, "turns": turns, "connect": connect}[what](
        *(int(text) if text.isdigit() else text for text in given)
    )
