"""Calls every tool of `longwire mcp` with the protocol's own client, and prints what came as one JSON object."""

import asyncio
import json
import sys

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client

CALLS = {
    "summary": {},
    "findings": {},
    "predict": {"rtt": ["40ms", "7ms"], "rate": "10mbit"},
    "statements": {"top": 3, "by": "turns"},
}
REFUSED = [("predict", {}), ("drop", {})]


async def ask(program, files):
    server = StdioServerParameters(command=program, args=["mcp", *files])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        began = await session.initialize()
        await session.send_ping()
        tools = await session.list_tools()
        given = {
            "server": began.serverInfo.name,
            "tools": sorted(tool.name for tool in tools.tools),
            "refused": [],
        }
        for name, arguments in CALLS.items():
            result = await session.call_tool(name, arguments)
            assert not result.isError, result
            # The text is for clients that know no structured content: the same.
            assert json.loads(result.content[0].text) == result.structuredContent
            given[name] = result.structuredContent
        for name, arguments in REFUSED:
            try:
                await session.call_tool(name, arguments)
            except McpError as error:
                given["refused"].append(error.error.code)
        return given


print(json.dumps(asyncio.run(ask(sys.argv[1], sys.argv[2:]))))
