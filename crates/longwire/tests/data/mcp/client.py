"""Calls every tool of `longwire mcp` with the protocol's own client, and prints what came as one JSON object.

The first argument is how it agrees on a version: auto (the latest) or legacy (with initialize).
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp.client import session

# On a busy machine the answer may take longer, and "auto" then goes on with initialize.
session.DISCOVER_TIMEOUT_SECONDS = 60.0

CALLS = {
    "summary": {},
    "findings": {},
    "predict": {"rtt": "40ms,7ms", "rate": "10mbit"},
    "statements": {"top": 3, "by": "turns"},
}


async def ask(mode, program, files):
    server = StdioServerParameters(command=program, args=["mcp", *files])
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        given = {
            "version": client.protocol_version,
            "server": client.server_info.name,
            "tools": sorted(tool.name for tool in tools.tools),
            "text": {},
        }
        for name, arguments in CALLS.items():
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result
            given[name] = result.structured_content
            given["text"][name] = result.content[0].text
        wrong = await client.call_tool("predict", {"rtt": "40"})
        assert wrong.is_error, wrong
        given["wrong"] = wrong.content[0].text
        try:
            await client.call_tool("drop", {})
        except MCPError as error:
            given["refused"] = error.code
        return given


print(json.dumps(asyncio.run(ask(sys.argv[1], sys.argv[2], sys.argv[3:]))))
