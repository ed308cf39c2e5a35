"""The official SDK of OpenAI for Python, with its Responses, at each address that is given."""

import sys

import openai

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
TOOLS = [{"type": "function", "name": "locate", "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}}]

for base in sys.argv[1:]:
    client = openai.OpenAI(base_url=base + "/v1", api_key="sk-client", max_retries=2)

    def ask(what, **more):
        return client.responses.create(model="gpt-5", input=what, **more)

    print("plain:", ask("plain?").output_text)
    with client.responses.stream(model="gpt-5", input="streamed?") as stream:
        print("streamed:", "".join(event.delta for event in stream if event.type == "response.output_text.delta"))
    turns = [{"role": "user", "content": "tools?"}]
    first = ask(turns, tools=TOOLS)
    call = first.output[-1]
    turns += [item.model_dump(exclude_none=True) for item in first.output]
    turns += [{"type": "function_call_output", "call_id": call.call_id, "output": "there"}]
    print("tools:", call.name, call.arguments, ask(turns, tools=TOOLS).output_text)
    image = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64," + PNG}
    print("image:", ask([{"role": "user", "content": [image, {"type": "input_text", "text": "image?"}]}]).output_text)
    try:
        ask("refused?")
    except openai.BadRequestError as error:
        print("refused:", error.status_code, error.body["message"])
    print("busy:", ask("busy?").output_text)
    print("later:", ask("later?", previous_response_id="resp_1").output_text)
