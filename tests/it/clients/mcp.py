"""The official client: initialise or discover, list, call every tool, read, cancel, hear of progress, 100 calls at once.

    mcp.py MODE ROOT COMMAND ARGUMENT...     prints a JSON line for each step

MODE is that of the client: legacy begins with initialize, auto with the newest protocol there is.
"""

import asyncio
import json
import sys

import mcp
from mcp.types import ListRootsResult, Root


def say(step, value):
    print(json.dumps({step: value}), flush=True)


async def roots(_):
    return ListRootsResult(roots=[Root(uri=f"file://{sys.argv[2]}")])


async def main():
    server = mcp.StdioServerParameters(command=sys.argv[3], args=sys.argv[4:])
    async with mcp.Client(server, mode=sys.argv[1], list_roots_callback=roots) as client:
        tools = (await client.list_tools()).tools
        say("tools", [tool.name for tool in tools])

        async def call(name, **arguments):
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error, answer
            assert answer.content[0].text and answer.structured_content["scope"], answer
            return answer.structured_content

        say("remember", (await call("remember", text="The owl hunts by the old wall at night."))["partition"])
        recalled = await call("recall", query="When does the owl hunt?")
        say("recall", [hit["content"] for hit in recalled["hits"]])
        titles = ["Feed owls at night", "Feed owls in the night"]
        memories = [
            await call("memory_record", title=title, content="Owls eat only in the dark, so feed them at night.")
            for title in titles
        ]
        say("memory_record", [memory["confidence"] for memory in memories])
        found = await call("memory_search", query="How do I feed owls?")
        say("memory_search", sorted(memory["title"] for memory in found["memories"]))
        memory = memories[0]["id"]
        say("memory_feedback", (await call("memory_feedback", memory_id=memory, helpful=True))["helpful"])
        say("memory_outcome", (await call("memory_outcome", memory_id=memory, succeeded=True))["recorded"])

        steps = []

        async def progress(done, total, message):
            steps.append((done, total))

        merged = await client.call_tool("memory_consolidate", {}, progress_callback=progress)
        merged = merged.structured_content
        say("memory_consolidate", [len(merged["created_memories"]), len(merged["archived_memories"])])
        say("progress", [len(steps) > 1, steps == sorted(steps)])
        ended = await call(
            "session_end", session_id="s1", task="feed the owls", approach="at night", outcome="partial", tags=["owls"]
        )
        say("session_end", ended["count"])
        say("context_search", (await call("context_search", query="cellar", limit=3))["count"])
        listed = await call("context_list")
        uri = listed["children"][0]["uri"]
        say("context_list", uri)
        say("context_read", (await call("context_read", uri=uri))["records"][0]["content"])
        say("forget", (await call("forget", ids=[memories[1]["id"]]))["removed"])

        wrong = await client.call_tool("recall", {"question": "?"})
        say("error", [wrong.is_error, wrong.content[0].text.splitlines()[:2]])

        resources = (await client.list_resources()).resources
        say("resources", [resource.uri for resource in resources])
        contents = await client.read_resource(uri)
        say("read", "cellar" in contents.contents[0].text)
        templates = (await client.list_resource_templates()).resource_templates
        say("templates", len(templates))
        say("prompts", [prompt.name for prompt in (await client.list_prompts()).prompts])
        prompt = await client.get_prompt("recall-before-you-begin", {"task": "feed the owls"})
        say("prompt", "The task:\nfeed the owls" in prompt.messages[0].content.text)

        # A call that is given up is cancelled.
        try:
            await client.call_tool("recall", {"query": "owl"}, read_timeout_seconds=0.000001)
            say("cancelled", False)
        except mcp.MCPError:
            say("cancelled", True)

        async def both(number):
            stored = await call("remember", text=f"Number {number} of the owls.")
            await call("recall", query=f"Number {number}", limit=1)
            return stored["id"]

        ids = await asyncio.gather(*(both(number) for number in range(50)))
        say("at once", len(set(ids)))


asyncio.run(main())
