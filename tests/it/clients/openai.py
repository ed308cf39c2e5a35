"""The library openai for Python: a line a case, for each base address."""

import sys

import openai

IMAGE = "data:image/png;base64,iVBORw0KGgo="
TOOL = {
    "type": "function",
    "function": {
        "name": "locate",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
    },
}

for base in sys.argv[1:]:
    client = openai.OpenAI(base_url=base + "/v1", api_key="own")

    def ask(content, **more):
        messages = content if isinstance(content, list) and "role" in content[0] else [{"role": "user", "content": content}]
        return client.chat.completions.create(model="llama3.1", messages=messages, **more)

    def said(answer):
        return answer.choices[0].message.content

    print("plain:", said(ask("plain?")))
    print("streamed:", "".join(chunk.choices[0].delta.content or "" for chunk in ask("streamed?", stream=True)))
    messages = [{"role": "user", "content": "tools?"}]
    answer = ask(messages, tools=[TOOL]).choices[0].message
    (call,) = answer.tool_calls
    messages += [answer, {"role": "tool", "tool_call_id": call.id, "content": "at the church"}]
    print("tools:", call.function.name, call.function.arguments, said(ask(messages, tools=[TOOL])))
    parts = [{"type": "text", "text": "image?"}, {"type": "image_url", "image_url": {"url": IMAGE}}]
    print("image:", said(ask(parts)))
    try:
        ask("refused?")
    except openai.BadRequestError as error:
        print("refused:", error.status_code, error.body["message"])
    print("busy:", said(ask("busy?")))
