#!/usr/bin/env bash
# One run of flow against the server whose address is the last argument: a pipeline that calls tools, as the scenario wants it.
set -euo pipefail
url=${!#}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
touch "$folder/flow.toml"
cd "$folder"

write() { # STEPS, each a line in JSON, which is YAML
    cat > p.yaml <<YAML
flow: 1
name: conformance
tools: { server: { url: "$url", timeout: 30s${more:-} } }
steps:
$1
  - { id: done, set: done }
outputs: { done: "{{ steps.done.output }}" }
YAML
}

calls() { # the calls that the scenario names; what is null is left out
    python3 -c 'import json, os
for n, call in enumerate(json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]):
    given = {name: value for name, value in call["arguments"].items() if value is not None}
    print("  -", json.dumps({"id": f"c{n}", "tool": "server." + call["name"], "with": given}))'
}

case "${MCP_CONFORMANCE_SCENARIO:-}" in
    tools_call) write '  - { id: call, tool: server.add_numbers, with: { a: 5, b: 3 } }' ;;
    sse-retry) write '  - { id: call, tool: server.test_reconnection }' ;;
    http-custom-headers) write "$(calls)" ;;
    http-invalid-tool-headers) write '  - { id: call, tool: server.valid_tool, with: { region: us-west1 } }' ;;
    json-schema-2020-12-preservation)
        # What is pinned of the tool is what the server said.
        write '  - { id: call, tool: server.json_schema_2020_12_tool, on_failure: continue }'
        "$FLOW" tools pin --trust --quiet >/dev/null 2>&1 || true
        write "$(python3 -c 'import json
[tools] = json.load(open("flow.lock"))["servers"].values()
print("  -", json.dumps({"id": "echo", "tool": "server.json_schema_echo", "with": {"schema": tools["json_schema_2020_12_tool"]["said"]["inputSchema"]}}))')"
        ;;
    sep-2322-client-request-state)
        # Each question is answered from outside, while the run waits.
        more=", questions: true"
        write '  - { id: echo, tool: server.test_mrtr_echo_state }
  - { id: bare, tool: server.test_mrtr_no_state }
  - { id: unrelated, tool: server.test_mrtr_unrelated, needs: [] }
  - { id: plain, tool: server.test_mrtr_no_result_type }'
        "$FLOW" run p.yaml --trust --quiet || [ $? = 8 ]
        run=$("$FLOW" runs list --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["run"])')
        for step in echo bare; do
            "$FLOW" approve "$run" "$step" --field confirmed=yes --quiet
            "$FLOW" runs resume "$run" --trust --quiet || [ "$step:$?" = echo:8 ]
        done
        exit
        ;;
    *) write '  - { id: call, tool: server.none, on_failure: continue }' ;;
esac
"$FLOW" run p.yaml --trust --quiet
