"""The library litellm: a line a case, for each base address."""

import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm

litellm.suppress_debug_info = True

IMAGE = "data:image/png;base64,iVBORw0KGgo="
TOOL = {
    "type": "function",
    "function": {
        "name": "locate",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
    },
}

for base in sys.argv[1:]:

    def ask(content, **more):
        messages = content if isinstance(content, list) and "role" in content[0] else [{"role": "user", "content": content}]
        where = {"api_base": base + "/v1", "api_key": "own"}
        return litellm.completion(model="openai/llama3.1", messages=messages, **where, **more)

    def said(answer):
        return answer.choices[0].message.content

    print("plain:", said(ask("plain?")))
    print("streamed:", "".join(chunk.choices[0].delta.content or "" for chunk in ask("streamed?", stream=True)))
    messages = [{"role": "user", "content": "tools?"}]
    answer = ask(messages, tools=[TOOL]).choices[0].message
    (call,) = answer.tool_calls
    messages += [answer.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": "at the church"}]
    print("tools:", call.function.name, call.function.arguments, said(ask(messages, tools=[TOOL])))
    parts = [{"type": "text", "text": "image?"}, {"type": "image_url", "image_url": {"url": IMAGE}}]
    print("image:", said(ask(parts)))
    try:
        ask("refused?")
    except litellm.BadRequestError as error:
        print("refused:", error.status_code, error.message.split(" - ")[-1])
    print("busy:", said(ask("busy?")))
    turn = {"role": "user", "content": "ollama?"}
    print("ollama:", said(litellm.completion(model="ollama_chat/llama3.1", messages=[turn], api_base=base)))
