#!/usr/bin/env bash
# Real MCP servers, in folders that git ignores. Prints nothing; run again it does nothing.
set -euo pipefail
cd "$(dirname "$0")/../../.."
[ -x .real/mcp/python/bin/mcp-server-time ] || {
    python3 -m venv .real/mcp/python
    .real/mcp/python/bin/python -m pip install --quiet --disable-pip-version-check mcp-server-time==2026.10.19
}
[ -x .real/mcp/node/node_modules/.bin/mcp-server-everything ] || npm install --silent --prefix .real/mcp/node \
    @modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-memory@2026.8.31
