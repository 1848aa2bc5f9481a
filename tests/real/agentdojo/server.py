"""Serves the four suites of AgentDojo on 127.0.0.1, one case at a time.

    server.py PORT

    /SUITE/mcp             the tools of a suite, over MCP
    /v1/chat/completions   the stand-in for the model
    POST /case             begins a case: {"suite": …, "user": …, "injection": … or null}; answers with the task and the calls that it needs
    POST /verdict          what AgentDojo says of the case: {"output": the answer of the pipeline}
    GET /cases             the names of all user tasks and injection tasks
"""

import contextlib
import sys

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

import model
import world

now = {"case": None}


def served(suite):
    """The MCP server of a suite."""
    tools = [types.Tool(name=tool.name, description=tool.description, input_schema=tool.parameters.model_json_schema())
             for tool in suite.tools]

    async def listed(_, __):
        return types.ListToolsResult(tools=tools)

    async def called(_, params):
        text, failed = now["case"].call(params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=failed)

    return Server(suite.name, version=world.VERSION, on_list_tools=listed, on_call_tool=called)


async def begin(request):
    now["case"] = case = world.Case(**await request.json())
    return JSONResponse({"task": case.user.PROMPT, "needs": [[call.function, dict(call.args)] for call in case.own_calls]})


async def verdict(request):
    return JSONResponse(now["case"].verdict((await request.json())["output"]))


async def complete(request):
    return JSONResponse(model.completion(now["case"], await request.json()))


async def names(_):
    return JSONResponse(world.cases())


def app():
    servers = {name: served(suite) for name, suite in world.SUITES.items()}
    routes = [Route("/case", begin, methods=["POST"]), Route("/verdict", verdict, methods=["POST"]), Route("/cases", names),
              Route("/v1/chat/completions", complete, methods=["POST"])]
    routes += [Mount(f"/{name}", server.streamable_http_app(stateless_http=True, json_response=True)) for name, server in servers.items()]

    @contextlib.asynccontextmanager
    async def running(_):
        async with contextlib.AsyncExitStack() as stack:
            for server in servers.values():
                await stack.enter_async_context(server.session_manager.run())
            yield

    return Starlette(routes=routes, lifespan=running)


if __name__ == "__main__":
    uvicorn.run(app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
