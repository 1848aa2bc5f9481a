#!/usr/bin/env bash
# One run of flow against the server whose address is the last argument: a pipeline that calls a tool, as the scenario wants it.
set -euo pipefail
url=${!#}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
case "${MCP_CONFORMANCE_SCENARIO:-}" in
    tools_call) step='tool: server.add_numbers, with: { a: 5, b: 3 }' ;;
    sse-retry) step='tool: server.test_reconnection' ;;
    *) step='tool: server.none, on_failure: continue' ;;
esac
cat > "$folder/p.yaml" <<YAML
flow: 1
name: conformance
tools: { server: { url: "$url", timeout: 30s } }
steps:
  - { id: call, $step }
  - { id: done, set: done }
outputs: { done: "{{ steps.done.output }}" }
YAML
touch "$folder/flow.toml"
cd "$folder"
"$FLOW" run p.yaml --trust --quiet
