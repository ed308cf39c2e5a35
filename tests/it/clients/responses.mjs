// The official SDK of OpenAI for Node, with its Responses, at each address that is given.
import OpenAI from "openai";

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";
const parameters = { type: "object", properties: { place: { type: "string" } } };
const tools = [{ type: "function", name: "locate", parameters }];

for (const base of process.argv.slice(2)) {
  const client = new OpenAI({ baseURL: base + "/v1", apiKey: "sk-client", maxRetries: 2 });
  const ask = (input, more = {}) => client.responses.create({ model: "gpt-5", input, ...more });
  console.log("plain:", (await ask("plain?")).output_text);
  let streamed = "";
  for await (const event of await ask("streamed?", { stream: true })) {
    if (event.type === "response.output_text.delta") streamed += event.delta;
  }
  console.log("streamed:", streamed);
  const turns = [{ role: "user", content: "tools?" }];
  const first = await ask(turns, { tools });
  const call = first.output.at(-1);
  turns.push(...first.output, { type: "function_call_output", call_id: call.call_id, output: "there" });
  console.log("tools:", call.name, call.arguments, (await ask(turns, { tools })).output_text);
  const image = { type: "input_image", detail: "auto", image_url: "data:image/png;base64," + png };
  const asked = [{ role: "user", content: [image, { type: "input_text", text: "image?" }] }];
  console.log("image:", (await ask(asked)).output_text);
  try {
    await ask("refused?");
  } catch (error) {
    console.log("refused:", error.status, error.error.message);
  }
  console.log("busy:", (await ask("busy?")).output_text);
  console.log("later:", (await ask("later?", { previous_response_id: "resp_1" })).output_text);
}
