"""An MCP server with one tool. What it says of itself, of the tool, and in a result is in files beside it, as far as they are there."""
import json
import os
import sys

TOOLS = {"weather.py": "get_temperature", "mcp-server-time": "get_current_time", "mcp-server-everything": "echo", "facts.py": "lookup"}
NAME = os.path.basename(sys.argv[0])
GIVES = {
    "get_temperature": {"temperature": 10, "unit": "C", "description": "cool"},
    "get_current_time": {"timezone": "America/New_York", "datetime": "2026-11-20T10:30:00-05:00", "day_of_week": "Friday", "is_dst": False},
}


def said(kind, usual):
    path = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), kind + ".says")
    return open(path).read() if os.path.exists(path) else usual


for line in sys.stdin:
    message = json.loads(line)
    method, tool = message.get("method"), TOOLS[NAME]
    if method == "server/discover":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "instructions": said("instructions", "")}
    elif method == "tools/list":
        result = {"tools": [{"name": tool, "description": said("description", "Looks up."), "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        with open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "received.says"), "a") as received:
            received.write(line)
        with_text = message["params"]["arguments"].get("message", "")
        words = said("result", "")
        if tool in GIVES:
            given = dict(GIVES[tool])
            given["description" if "description" in given else "day_of_week"] += words
            result = {"content": [], "structuredContent": given}
        else:
            result = {"content": [{"type": "text", "text": ("Echo: " + with_text if tool == "echo" else "A fact. ") + words}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
