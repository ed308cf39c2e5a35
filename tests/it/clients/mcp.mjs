// The official client for TypeScript: initialise, list, call every tool, read, cancel, hear of progress, 100 calls at once.
//
//     mcp.mjs ROOT COMMAND ARGUMENT...     prints a JSON line for each step

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [root, command, ...args] = process.argv.slice(2);
const say = (step, value) => console.log(JSON.stringify({ [step]: value }));

const client = new Client({ name: "test", version: "1" }, { capabilities: { roots: {} } });
client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: `file://${root}` }] }));
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));

async function call(name, given = {}, options = {}) {
  const answer = await client.callTool({ name, arguments: given }, undefined, options);
  if (answer.isError || !answer.content[0].text || !answer.structuredContent.scope) throw new Error(JSON.stringify(answer));
  return answer.structuredContent;
}

say("tools", (await client.listTools()).tools.map((tool) => tool.name));
say("remember", (await call("remember", { text: "The owl hunts by the old wall at night." })).partition);
say("recall", (await call("recall", { query: "When does the owl hunt?" })).hits.map((hit) => hit.content));
const memories = [];
for (const title of ["Feed owls at night", "Feed owls in the night"]) {
  memories.push(await call("memory_record", { title, content: "Owls eat only in the dark, so feed them at night." }));
}
say("memory_record", memories.map((memory) => memory.confidence));
const found = await call("memory_search", { query: "How do I feed owls?" });
say("memory_search", found.memories.map((memory) => memory.title).sort());
const memory_id = memories[0].id;
say("memory_feedback", (await call("memory_feedback", { memory_id, helpful: true })).helpful);
say("memory_outcome", (await call("memory_outcome", { memory_id, succeeded: true })).recorded);
// Of steps that arrive together with the answer, this client tells nothing.
let steps = [];
for (let tries = 0; steps.length < 2 && tries < 50; tries++) {
  steps = [];
  await call("memory_consolidate", { dry_run: true }, { onprogress: (step) => steps.push(step.progress) });
}
const merged = await call("memory_consolidate", {});
say("memory_consolidate", [merged.created_memories.length, merged.archived_memories.length]);
say("progress", [steps.length > 1, steps.every((step, at) => at === 0 || step > steps[at - 1])]);
const ended = await call("session_end", {
  session_id: "s1",
  task: "feed the owls",
  approach: "at night",
  outcome: "partial",
  tags: ["owls"],
});
say("session_end", ended.count);
say("context_search", (await call("context_search", { query: "cellar", limit: 3 })).count);
const uri = (await call("context_list")).children[0].uri;
say("context_list", uri);
say("context_read", (await call("context_read", { uri })).records[0].content);
say("forget", (await call("forget", { ids: [memories[1].id] })).removed);
const wrong = await client.callTool({ name: "recall", arguments: { question: "?" } });
say("error", [wrong.isError, wrong.content[0].text.split("\n").slice(0, 2)]);
say("resources", (await client.listResources()).resources.map((resource) => resource.uri));
say("read", (await client.readResource({ uri })).contents[0].text.includes("cellar"));
say("templates", (await client.listResourceTemplates()).resourceTemplates.length);
say("prompts", (await client.listPrompts()).prompts.map((prompt) => prompt.name));
const prompt = await client.getPrompt({ name: "recall-before-you-begin", arguments: { task: "feed the owls" } });
say("prompt", prompt.messages[0].content.text.includes("The task:\nfeed the owls"));
const controller = new AbortController();
const given_up = call("recall", { query: "owl" }, { signal: controller.signal });
controller.abort();
say("cancelled", await given_up.then(() => false, () => true));
const both = async (number) => {
  const stored = await call("remember", { text: `Number ${number} of the owls.` });
  await call("recall", { query: `Number ${number}`, limit: 1 });
  return stored.id;
};
say("at once", new Set(await Promise.all(Array.from({ length: 50 }, (_, number) => both(number)))).size);
await client.close();
