#!/usr/bin/env python3
"""A small MCP server on standard input and output: estimates the temperature at a place in the United States from its latitude and the date.

It needs nothing but Python 3. What it gives is an estimate, not a measurement: a mean for the latitude, warmer in July and colder in January.
"""

import datetime
import json
import math
import sys

VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
NUMBER = {"type": "number"}
TOOL = {
    "name": "get_temperature",
    "description": "Estimates the temperature in degrees Celsius at a latitude between 18 and 72 degrees north.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "latitude": {**NUMBER, "description": "Degrees north"},
            "longitude": {**NUMBER, "description": "Degrees east"},
            "date": {"type": "string", "description": "Year, month and day, such as 2026-11-20; left out: today"},
        },
        "required": ["latitude", "longitude"],
        "additionalProperties": False,
    },
    "outputSchema": {
        "type": "object",
        "properties": {"temperature": NUMBER, "unit": {"type": "string", "enum": ["C", "F"]}, "description": {"type": "string"}},
        "required": ["temperature", "unit", "description"],
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}


class Wrong(Exception):
    """Arguments that this tool cannot answer."""


def get_temperature(latitude, longitude, date=None):
    if not 18 <= latitude <= 72 or not -180 <= longitude <= -60:
        raise Wrong(f"there is no estimate for {latitude}, {longitude}")
    day = datetime.date.fromisoformat(date) if date else datetime.date.today()
    season = -math.cos((day.timetuple().tm_yday - 20) / 365.25 * 2 * math.pi)
    # About 25 degrees all year in the south, and a mean of 5 with 18 up and down in the north.
    north = (latitude - 25) / 25
    celsius = round(24 - 16 * north + season * (5 + 11 * max(north, 0)), 1)
    words = ["freezing", "cold", "cool", "mild", "warm", "hot"]
    return {"temperature": celsius, "unit": "C", "description": words[min(5, max(0, int(celsius // 7) + 1))]}


def call(params):
    if params.get("name") != TOOL["name"]:
        raise Wrong(f"there is no tool {params.get('name')}")
    try:
        found = get_temperature(**params.get("arguments", {}))
    except (TypeError, ValueError) as error:
        raise Wrong(str(error)) from error
    return {"content": [{"type": "text", "text": json.dumps(found)}], "structuredContent": found}


def answer(method, params):
    if method == "initialize":
        asked = params.get("protocolVersion")
        version = asked if asked in VERSIONS else VERSIONS[0]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "weather-estimate", "version": "1.0.0"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        try:
            return call(params)
        except Wrong as wrong:
            return {"content": [{"type": "text", "text": str(wrong)}], "isError": True}
    if method == "ping":
        return {}
    return None


for line in sys.stdin:
    try:
        message = json.loads(line)
        method = message.get("method")
    except (ValueError, AttributeError):
        print(json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "this is no JSON object"}}), flush=True)
        continue
    if "id" not in message or method is None:
        continue
    result = answer(method, message.get("params") or {})
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": f"there is no method {method}"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
