"""The library ollama for Python: a line a case, for each base address."""

import base64
import json
import sys

import ollama

IMAGE = base64.b64decode("iVBORw0KGgo=")


def locate(place: str) -> str:
    """Tells where a place is."""
    return "at the church"


for base in sys.argv[1:]:
    client = ollama.Client(host=base)

    def ask(text, **more):
        message = {"role": "user", "content": text, **more.pop("message", {})}
        return client.chat(model="llama3.1", messages=[message], **more)

    print("plain:", ask("plain?").message.content)
    print("streamed:", "".join(piece.message.content for piece in ask("streamed?", stream=True)))
    messages = [{"role": "user", "content": "tools?"}]
    answer = client.chat(model="llama3.1", messages=messages, tools=[locate]).message
    (call,) = answer.tool_calls
    arguments = dict(call.function.arguments)
    messages += [answer, {"role": "tool", "tool_name": "locate", "content": locate(**arguments)}]
    last = client.chat(model="llama3.1", messages=messages, tools=[locate]).message.content
    print("tools:", call.function.name, json.dumps(arguments, separators=(",", ":")), last)
    print("image:", ask("image?", message={"images": [IMAGE]}).message.content)
    print("prompt:", client.generate(model="llama3.1", prompt="prompt?").response)
    try:
        ask("refused?")
    except ollama.ResponseError as error:
        print("refused:", error.status_code, error.error)
    print("busy:", ask("busy?").message.content)
