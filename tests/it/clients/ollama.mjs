// The library ollama for Node: a line a case, for each base address.
import { Ollama } from "ollama";

const tools = [{
    type: "function",
    function: { name: "locate", parameters: { type: "object", properties: { place: { type: "string" } } } },
}];

for (const host of process.argv.slice(2)) {
    const client = new Ollama({ host });
    const ask = (messages, more) => client.chat({ model: "llama3.1", messages, ...more });
    const user = (content, more) => [{ role: "user", content, ...more }];
    const said = async (answer) => (await answer).message.content;

    console.log("plain:", await said(ask(user("plain?"))));
    let streamed = "";
    for await (const piece of await ask(user("streamed?"), { stream: true })) streamed += piece.message.content;
    console.log("streamed:", streamed);
    const { message } = await ask(user("tools?"), { tools });
    const [call] = message.tool_calls;
    const result = { role: "tool", tool_name: "locate", content: "at the church" };
    const last = await said(ask([...user("tools?"), message, result], { tools }));
    console.log("tools:", call.function.name, JSON.stringify(call.function.arguments), last);
    console.log("image:", await said(ask(user("image?", { images: ["iVBORw0KGgo="] }))));
    console.log("prompt:", (await client.generate({ model: "llama3.1", prompt: "prompt?" })).response);
    await ask(user("refused?")).catch((error) => console.log("refused:", error.status_code, error.error));
    console.log("busy:", await said(ask(user("busy?"))));
}
