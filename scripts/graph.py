#!/usr/bin/env python3
"""The operations that scripts/bench neo4j compares with rsv, by the official driver. The server is at RSV_STORE.

    graph.py clear          removes everything, indexes too
    graph.py load FILE      writes messages with vectors as rsv-import does: the same nodes, properties, labels,
                            relations and indexes, by UNWIND; what is there is not looked for
    graph.py shape FILE     writes how many nodes of each label and relations of each type there are, with which
                            properties, and their indexes; if there is FILE, ends with 1 unless the graph is alike. What
                            is there once for a store, a model or a scope is left out
    graph.py turns COUNT    sends the requests on stdin through rsv-enrich, and their answers through rsv-ingest, one
                            after the other; prints the medians in microseconds, of the last hundred, of: the request
                            less what its question's encoder takes, for which a server stands in, the answer, both,
                            `RETURN 1`, a plain vector query, and writing what a turn writes but synapses: two
                            messages, their words, their link and an account, and then two vectors
    graph.py connect        the median of connecting, signing in and `RETURN 1`

Needs neo4j and numpy.
"""

import base64
import collections
import itertools
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse

import neo4j
import numpy

# The number of rows in a statement, and in a transaction.
ROWS, BATCH = 2000, 5000
MEASURED = 100

INDEX = """CREATE VECTOR INDEX {} FOR (e:{}) ON (e.embedding) OPTIONS {{indexConfig: {{
    `vector.dimensions`: 384, `vector.similarity_function`: 'cosine', `vector.quantization.enabled`: true}}}}"""
AWAIT = "CALL db.awaitIndexes(300)"
SCHEMA = [
    "CREATE CONSTRAINT record FOR (r:RsvRecord) REQUIRE r.rsv_id IS UNIQUE",
    "CREATE INDEX number FOR (r:RsvRecord) ON (r.n)",
    "CREATE CONSTRAINT word FOR (w:RsvWord) REQUIRE (w.stem, w.collection) IS UNIQUE",
    "CREATE INDEX scope FOR (m:MessageNode) ON (m.partition, m.instance, m.timestamp)",
    "CREATE INDEX time FOR (m:MessageNode) ON (m.timestamp)",
    "CREATE INDEX trace FOR (m:MessageNode) ON (m.trace_id, m.timestamp)",
    """CREATE FULLTEXT INDEX words FOR (m:MessageNode) ON EACH [m.words]
       OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}""",
    INDEX.format("vectors", "RsvVector1"),
    AWAIT,
]
MESSAGES = "UNWIND $rows AS row CREATE (m:MessageNode:RsvMessage:RsvRecord) SET m = row"
WORDS = """UNWIND $rows AS row MERGE (w:RsvWord {stem: row.stem, collection: row.collection})
    ON CREATE SET w.documents = 0, w.kind = 'message' SET w.documents = w.documents + row.documents"""
ACCOUNT = "CREATE (a:RsvAccount:RsvRecord) SET a = $row"
ANSWERED = """MATCH (q:RsvRecord {rsv_id: $question}) MATCH (a:RsvRecord {rsv_id: $answer})
    CREATE (q)-[l:RESPONDED_WITH]->(a) SET l = {timestamp: $at}"""
VECTORS = """UNWIND $rows AS row MATCH (r:RsvRecord {rsv_id: row.of})
    CREATE (r)-[:HAS_EMBEDDING]->(e:RsvVector:RsvVector1:RsvUnlinked1:Embedding384) SET e = row.properties
    WITH e, row CALL db.create.setNodeVectorProperty(e, 'embedding', row.vector)"""


def connected():
    return neo4j.GraphDatabase.driver(os.environ["RSV_STORE"], auth=("neo4j", os.environ["NEO4J_PASSWORD"]))


def clear():
    with connected() as driver, driver.session() as session:
        session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 2000 ROWS").consume()
        for kind in "CONSTRAINT", "INDEX":
            for row in session.run(f"SHOW {kind} YIELD name, type WHERE type <> 'LOOKUP' RETURN name").data():
                session.run(f"DROP {kind} {row['name']}").consume()


def stems(text):
    """The words of a text, and what stands for their stems: these are shorter, and some words share one."""
    words = set(text.split())
    return words, {word[:-1] if word[-1] in "esy" and len(word) > 3 else word for word in words}


def node(collection, number, line):
    """The properties of the node of a message."""
    words, roots = stems(line["content"])
    return {
        "rsv_id": line["id"], "trace_id": line["trace_id"], "role": line["role"], "seq": 0, "n": number,
        "content": line["content"], "length": len(line["content"].split()), "embedding": [],
        "words": " ".join([f"@{collection}", *sorted(words), *("_" + root for root in sorted(roots))]),
        **{name: line[name] for name in ("partition", "instance", "timestamp")},
    }  # fmt: skip


def counted(lines, numbers):
    """The rows of the words of messages: in how many of each collection a stem is."""
    counts = collections.Counter(
        (stem, numbers[line["instance"]]) for line in lines for stem in stems(line["content"])[1]
    )
    return [{"stem": stem, "collection": n, "documents": count} for (stem, n), count in counts.items()]


def write(transaction, *steps):
    for statement, rows in steps:
        for at in range(0, len(rows), ROWS):
            transaction.run(statement, rows=rows[at : at + ROWS]).consume()


def load(name):
    with connected() as driver, driver.session() as session, open(name, encoding="utf-8") as lines:
        for statement in SCHEMA:
            session.run(statement).consume()
        numbers, scopes = itertools.count(), collections.defaultdict(itertools.count(1).__next__)
        while batch := [json.loads(line) for line in itertools.islice(lines, BATCH)]:
            messages, vectors = [], []
            for line in batch:
                messages.append(node(scopes[line["instance"]], next(numbers), line))
                vector = numpy.frombuffer(base64.b64decode(line["embedding"]), dtype=numpy.float32).tolist()
                properties = {"model": line["embedding_model"], "kind": "message", "n": next(numbers)}
                properties |= {name: line[name] for name in ("partition", "instance", "timestamp")}
                vectors.append({"of": line["id"], "properties": properties, "vector": vector})
            with session.begin_transaction() as transaction:
                write(transaction, (MESSAGES, messages), (WORDS, counted(batch, scopes)), (VECTORS, vectors))
                transaction.commit()


ONCE = {"RsvStore", "RsvModel", "RsvCollection", "RsvVectorCount"}


def shape(name):
    counts = {}
    with connected() as driver, driver.session() as session:
        for each, names in ("(x)", "labels(x)"), ("()-[x]->()", "[type(x)]"):
            query = f"MATCH {each} UNWIND {names} AS name UNWIND [''] + keys(x) AS key RETURN name, key, count(*)"
            counts |= {f"{row[0]} {row[1]}": row[2] for row in session.run(query).values() if row[0] not in ONCE}
        labels = {key.split()[0] for key in counts}
        for kind, of, properties in session.run("SHOW INDEXES YIELD type, labelsOrTypes, properties").values():
            counts |= {f"{kind} {label} {properties}": 1 for label in of or [] if label in labels}
    file = pathlib.Path(name)
    other = json.loads(file.read_text()) if file.exists() else counts
    # The stems of the script are not quite those of rsv.
    different = [key for key in counts.keys() | other if not 0.9 < counts.get(key, 0) / other.get(key, 1e9) < 1.1]
    if different:
        sys.exit(f"graph.py: error: {name} has other {sorted(different)}")
    file.write_text(json.dumps(counts))


def bare(session, at, question, answer):
    """The writes of a turn, in its two transactions: nothing is asked, and no synapse made. The vectors go
    into an index of their own, so that they are in nobody's way."""
    scope = {"partition": "bare", "instance": "bare", "timestamp": at}
    texts = [("user", question), ("assistant", answer)]
    lines = [{"id": f"{at}-{role}", "trace_id": f"{at}", "role": role, "content": text} | scope for role, text in texts]
    account = {"rsv_id": f"{at}", "trace_id": f"{at}", "content": "", "blank": True, "n": at, "extra": "x" * 2000} | scope
    with session.begin_transaction() as transaction:
        write(transaction, (MESSAGES, [node(0, at, line) for line in lines]), (WORDS, counted(lines, {"bare": 0})))
        transaction.run(ACCOUNT, row=account).consume()
        transaction.run(ANSWERED, question=lines[0]["id"], answer=lines[1]["id"], at=at).consume()
        transaction.commit()
    vectors = numpy.random.default_rng(at).standard_normal((2, 384)).tolist()
    rows = [{"of": line["id"], "properties": {}, "vector": vector} for line, vector in zip(lines, vectors)]
    session.run(VECTORS.replace("RsvVector1:RsvUnlinked1", "Bare"), rows=rows).consume()


def took(work):
    begun = time.perf_counter()
    done = work()
    return 1e6 * (time.perf_counter() - begun), done


def encoder():
    """A client that asks the stand-in for the encoder for the vector of a question."""
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
    times, recalled = [], 0
    with connected() as driver, driver.session() as session:
        index = session.run("SHOW VECTOR INDEXES YIELD name").single()["name"]
        for statement in INDEX.format("bare", "Bare"), AWAIT:
            session.run(statement).consume()
        for at, line in enumerate(itertools.islice(sys.stdin, count)):
            asked, request = took(lambda: through(enrich, line))
            rsv = json.loads(request)["rsv"]
            recalled += bool(rsv["account"]["recalled"])
            message = {"role": "assistant", "content": f"The answer {at} of {time.time_ns()}."}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [choice]}
            stored, _ = took(lambda: through(ingest, json.dumps(answer | {"rsv": rsv})))
            encoded, _ = took(lambda: encode(json.loads(line)["messages"][-1]["content"]))
            asked -= encoded
            one, _ = took(lambda: session.run("RETURN 1").consume())
            vector = vectors[at % len(vectors)]
            near, rows = took(lambda: session.run(plain, index=index, vector=vector).values())
            if not rows:
                sys.exit("graph.py: error: the plain vector query finds nothing")
            question = json.loads(line)["messages"][-1]["content"]
            written, _ = took(lambda: bare(session, time.time_ns(), question, message["content"]))
            times.append((asked, stored, asked + stored, one, near, written))
    for tool in enrich, ingest:
        tool.stdin.close()
        if tool.wait():
            sys.exit(f"graph.py: error: {tool.args} ended with {tool.returncode}")
    if recalled < len(times) / 2:
        sys.exit(f"graph.py: error: only {recalled} of {len(times)} requests recall anything")
    print(*(round(statistics.median(column)) for column in zip(*times[-MEASURED:])))


def connect():
    def one():
        with connected() as driver, driver.session() as session:
            session.run("RETURN 1").consume()

    print(round(statistics.median(took(one)[0] for _ in range(21))))


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    {"clear": clear, "load": load, "shape": shape, "turns": turns, "connect": connect}[what](
        *(int(text) if text.isdigit() else text for text in given)
    )
