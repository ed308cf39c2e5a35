// The library openai for Node: a line a case, for each base address.
import OpenAI from "openai";

const IMAGE = "data:image/png;base64,iVBORw0KGgo=";
const tools = [{
    type: "function",
    function: { name: "locate", parameters: { type: "object", properties: { place: { type: "string" } } } },
}];

for (const base of process.argv.slice(2)) {
    const client = new OpenAI({ baseURL: base + "/v1", apiKey: "own" });
    const ask = (messages, more) => client.chat.completions.create({ model: "llama3.1", messages, ...more });
    const user = (content) => [{ role: "user", content }];
    const said = async (answer) => (await answer).choices[0].message.content;

    console.log("plain:", await said(ask(user("plain?"))));
    let streamed = "";
    for await (const chunk of await ask(user("streamed?"), { stream: true })) {
        streamed += chunk.choices[0].delta.content ?? "";
    }
    console.log("streamed:", streamed);
    const { message } = (await ask(user("tools?"), { tools })).choices[0];
    const [call] = message.tool_calls;
    const result = { role: "tool", tool_call_id: call.id, content: "at the church" };
    const last = await said(ask([...user("tools?"), message, result], { tools }));
    console.log("tools:", call.function.name, call.function.arguments, last);
    const parts = [{ type: "text", text: "image?" }, { type: "image_url", image_url: { url: IMAGE } }];
    console.log("image:", await said(ask(user(parts))));
    await ask(user("refused?")).catch((error) => console.log("refused:", error.status, error.error.message));
    console.log("busy:", await said(ask(user("busy?"))));
}
