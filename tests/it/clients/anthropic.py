"""The official SDK of Anthropic for Python, version 2.13.0, at each address that is given."""

import sys

import anthropic

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
TOOLS = [{"name": "locate", "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}}}]

for base in sys.argv[1:]:
    client = anthropic.Anthropic(base_url=base, api_key="sk-ant-api03-client", max_retries=2)

    def ask(content, **more):
        turns = content if isinstance(content, list) and "role" in content[0] else [{"role": "user", "content": content}]
        return client.messages.create(model="claude-sonnet-4-5", max_tokens=100, messages=turns, **more)

    print("plain:", ask("plain?").content[-1].text)
    with client.messages.stream(
        model="claude-sonnet-4-5", max_tokens=100, messages=[{"role": "user", "content": "streamed?"}]
    ) as stream:
        print("streamed:", "".join(stream.text_stream))
    turns = [{"role": "user", "content": "tools?"}]
    first = ask(turns, tools=TOOLS)
    call = first.content[-1]
    turns += [
        {"role": "assistant", "content": [block.model_dump() for block in first.content]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "there"}]},
    ]
    print("tools:", call.name, call.input["place"], ask(turns, tools=TOOLS).content[-1].text)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    print("image:", ask([image, {"type": "text", "text": "image?"}]).content[-1].text)
    try:
        ask("refused?")
    except anthropic.BadRequestError as error:
        print("refused:", error.status_code, error.body["error"]["message"])
    print("busy:", ask("busy?").content[-1].text)
    counted = client.messages.count_tokens(model="claude-sonnet-4-5", messages=[{"role": "user", "content": "counted?"}])
    print("counted:", counted.input_tokens)
