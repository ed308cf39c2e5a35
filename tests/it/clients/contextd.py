"""The official client before rsv-mcp, as contextd's documents have an agent call its tools.

    contextd.py COMMAND ARGUMENT...     prints a JSON line for each step
"""

import asyncio
import json
import sys

import mcp


def say(step, value):
    print(json.dumps({step: value}), flush=True)


async def main():
    server = mcp.StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with mcp.Client(server) as client:

        async def call(tool, **arguments):
            answer = await client.call_tool(tool, arguments)
            if answer.is_error:
                return answer.content[0].text.splitlines()[0]
            return answer.structured_content

        # Before the task: what was learnt?
        nothing = await call("memory_search", project_id="shop", query="fix flaky tests", limit=5)
        say("nothing yet", [nothing["memories"], nothing["count"]])

        # A lesson is recorded explicitly, with the names of both versions of the documents.
        learnt = {"title": "Run flaky tests ten times", "content": "A flaky test is fixed when it passes ten times."}
        recorded = await call(
            "memory_record", project_id="shop", outcome="success", tags=["go", "testing"], **learnt,
            session_id="session-1", session_date="2026-11-20T10:00:00Z",
        )
        say("recorded", {name: recorded[name] for name in ["title", "outcome", "confidence"]})
        warning = await call(
            "memory_record", project_id="shop", title="Skip flaky tests", outcome="failure",
            content="Flaky tests that were skipped hid a race.",
        )
        say("a warning", warning["outcome"])

        # The next session finds both, the strategy and the warning.
        found = await call("memory_search", project_id="shop", query="What do I do about flaky tests?")
        say("found", sorted([memory["title"], memory["outcome"]] for memory in found["memories"]))
        memory = next(memory for memory in found["memories"] if memory["id"] == recorded["id"])
        say("a memory", {name: memory[name] for name in ["title", "content", "outcome", "confidence", "tags"]})

        # It says whether the memory helped, and how the task ended.
        helped = await call("memory_feedback", memory_id=memory["id"], helpful=True)
        say("it helped", [helped["helpful"], helped["memory_id"] == memory["id"], helped["new_confidence"] > 0.8])
        ended = await call("memory_outcome", memory_id=memory["id"], succeeded=True, session_id="session-2")
        say("it worked", [ended["recorded"], ended["new_confidence"] > helped["new_confidence"]])

        # Another project's lessons are its own, and one that is not allowed is as one that is not there.
        other = {"title": "Run flaky tests twenty times", "content": "A flaky test is fixed when it passes twenty times."}
        await call("memory_record", project_id="bank", outcome="success", **other)
        for project in ["shop", "bank"]:
            found = await call("memory_search", project_id=project, query="flaky tests twenty times")
            say(project, ["Run flaky tests twenty times" in [memory["title"] for memory in found["memories"]]])
        for project in ["vault", "nowhere"]:
            say(project, await call("memory_search", project_id=project, query="flaky tests"))

        # Similar lessons become one: a preview first.
        again = {"title": "Run flaky tests ten times over", "content": "A flaky test is fixed when it passes ten times."}
        await call("memory_record", project_id="shop", outcome="success", **again)
        for name, options in [
            ("preview", {"similarity_threshold": 0.85, "dry_run": True}),
            ("consolidated", {"max_clusters_per_run": 10, "force_all": True}),
            ("too soon", {"max_clusters": 10}),
        ]:
            result = await call("memory_consolidate", project_id="shop", **options)
            counts = [len(result["created_memories"]), len(result["archived_memories"])]
            say(name, [*counts, result["skipped_count"], result["total_processed"]])
        found = await call("memory_search", project_id="shop", query="Run flaky tests ten times", limit=1)
        say("one of them", [found["count"], found["memories"][0]["id"] not in [recorded["id"]]])

        # The end of a session leaves lessons behind.
        closed = await call(
            "session_end", project_id="shop", session_id="session-2", task="fix the flaky login test",
            approach="ran it ten times", outcome="partial", tags=["testing"], notes="A race remains.",
        )
        say("ended", [closed["count"], [memory["outcome"] for memory in closed["memories"]]])


asyncio.run(main())
