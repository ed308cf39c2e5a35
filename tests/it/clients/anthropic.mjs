// The official SDK of Anthropic for Node, version 1.13.0, at each address that is given.
import Anthropic from "@anthropic-ai/sdk";

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";
const tools = [{ name: "locate", input_schema: { type: "object", properties: { place: { type: "string" } } } }];

for (const baseURL of process.argv.slice(2)) {
  const client = new Anthropic({ baseURL, apiKey: "sk-ant-api03-client", maxRetries: 2 });
  const base = { model: "claude-sonnet-4-5", max_tokens: 100 };
  const ask = (content, more = {}) =>
    client.messages.create({ ...base, messages: [{ role: "user", content }], ...more });
  const text = (answer) => answer.content.at(-1).text;
  console.log("plain:", text(await ask("plain?")));
  const stream = client.messages.stream({ ...base, messages: [{ role: "user", content: "streamed?" }] });
  console.log("streamed:", text(await stream.finalMessage()));
  const first = await ask("tools?", { tools });
  const call = first.content.at(-1);
  const messages = [
    { role: "user", content: "tools?" },
    { role: "assistant", content: first.content },
    { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "there" }] },
  ];
  const last = await client.messages.create({ ...base, messages, tools });
  console.log("tools:", call.name, call.input.place, text(last));
  const source = { type: "base64", media_type: "image/png", data: png };
  console.log("image:", text(await ask([{ type: "image", source }, { type: "text", text: "image?" }])));
  try {
    await ask("refused?");
  } catch (error) {
    console.log("refused:", error.status, error.error.error.message);
  }
  console.log("busy:", text(await ask("busy?")));
  const counted = await client.messages.countTokens({
    model: base.model,
    messages: [{ role: "user", content: "counted?" }],
  });
  console.log("counted:", counted.input_tokens);
}
