"""langchain-openai: a line a case, for each base address."""

import json
import sys

import openai
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

IMAGE = "data:image/png;base64,iVBORw0KGgo="


@tool
def locate(place: str) -> str:
    """Tells where a place is."""
    return "at the church"


for base in sys.argv[1:]:
    model = ChatOpenAI(base_url=base + "/v1", api_key="own", model="llama3.1")
    print("plain:", model.invoke("plain?").content)
    print("streamed:", "".join(chunk.content for chunk in model.stream("streamed?")))
    with_tools = model.bind_tools([locate])
    messages = [HumanMessage("tools?")]
    answer = with_tools.invoke(messages)
    (call,) = answer.tool_calls
    messages += [answer, ToolMessage(locate.invoke(call["args"]), tool_call_id=call["id"])]
    print("tools:", call["name"], json.dumps(call["args"], separators=(",", ":")), with_tools.invoke(messages).content)
    parts = [{"type": "text", "text": "image?"}, {"type": "image_url", "image_url": {"url": IMAGE}}]
    print("image:", model.invoke([HumanMessage(parts)]).content)
    try:
        model.invoke("refused?")
    except openai.BadRequestError as error:
        print("refused:", error.status_code, error.body["message"])
    print("busy:", model.invoke("busy?").content)
