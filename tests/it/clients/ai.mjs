// The library ai with @ai-sdk/openai-compatible: a line a case, for each base address.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

const IMAGE = "data:image/png;base64,iVBORw0KGgo=";

for (const base of process.argv.slice(2)) {
    const model = createOpenAICompatible({ name: "rsv", baseURL: base + "/v1", apiKey: "own" })("llama3.1");

    console.log("plain:", (await generateText({ model, prompt: "plain?" })).text);
    let streamed = "";
    for await (const piece of streamText({ model, prompt: "streamed?" }).textStream) streamed += piece;
    console.log("streamed:", streamed);
    let called;
    const locate = tool({
        inputSchema: jsonSchema({ type: "object", properties: { place: { type: "string" } } }),
        execute: async (input) => {
            called = JSON.stringify(input);
            return "at the church";
        },
    });
    const answer = await generateText({ model, prompt: "tools?", tools: { locate }, stopWhen: stepCountIs(2) });
    console.log("tools:", "locate", called, answer.text);
    const content = [{ type: "text", text: "image?" }, { type: "image", image: IMAGE }];
    console.log("image:", (await generateText({ model, messages: [{ role: "user", content }] })).text);
    await generateText({ model, prompt: "refused?" })
        .catch((error) => console.log("refused:", error.statusCode, error.message));
    console.log("busy:", (await generateText({ model, prompt: "busy?" })).text);
}
