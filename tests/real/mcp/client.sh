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
tools: { server: { url: "$url", timeout: 30s${auth:-}${more:-} } }
steps:
$1
  - { id: done, set: done }
outputs: { done: "{{ steps.done.output }}" }
YAML
}

context() { # a value that the scenario names
    python3 -c 'import json, os, sys; print(json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])[sys.argv[1]])' "$1"
}

try_login() { # whoever opens the printed address comes back with a code
    "$FLOW" tools login server --trust "$@" 2>&1 | while read -r line; do
        case "$line" in
            http*) curl --silent --show-error --location --max-time 20 --output /dev/null "$line" ;;
            *) echo "$line" | tee -a told >&2 ;;
        esac
    done
}

advised() { # the words after the command that the last message names
    sed -n 's/.*: flow tools login server\(\( p.yaml\)\{0,1\}\( --[a-z-]*[= ][^ ;]*\)*\).*/\1/p' told | tail -1
}

login() { # signs in as a person would: a host that the server names is looked at, and agreed to
    : >told
    # shellcheck disable=SC2046
    try_login "$@" || { [ -n "$(advised)" ] && try_login "$@" $(advised); }
}

again() { # runs; what its message says about the login is done, once
    "$FLOW" run p.yaml --trust --quiet 2>told && return
    cat told >&2
    # shellcheck disable=SC2046
    login $(advised)
    "$FLOW" run p.yaml --trust --quiet
}

calls() { # the calls that the scenario names; what is null is left out
    python3 -c 'import json, os
for n, call in enumerate(json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]):
    given = {name: value for name, value in call["arguments"].items() if value is not None}
    print("  -", json.dumps({"id": f"c{n}", "tool": "server." + call["name"], "with": given}))'
}

accepts() { # runs at a terminal of its own, where a person says yes and presses Enter at each field
    python3 - "$FLOW" run p.yaml --trust <<'PY'
import os, pty, re, sys

os.environ["TERM"] = "xterm"
os.environ.pop("CI", None)
process, terminal = pty.fork()
if process == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown = ""
while True:
    try:
        shown += os.read(terminal, 4096).decode(errors="replace")
    except OSError:
        break
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    if plain.endswith("(yes/no) "):
        os.write(terminal, b"yes\n")
        shown = ""
    elif plain.endswith("]: "):
        os.write(terminal, b"\n")
        shown = ""
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
PY
}

export XDG_STATE_HOME="$folder/state"
case "${MCP_CONFORMANCE_SCENARIO:-}" in
    auth/client-credentials-jwt)
        issuer=$(curl --silent "${url%/mcp}/.well-known/oauth-protected-resource/mcp" | python3 -c 'import json, sys; print(json.load(sys.stdin)["authorization_servers"][0])')
        KEY=$(context private_key_pem)
        export KEY
        auth=", auth: { client_id: $(context client_id), private_key: '{{ env.KEY }}', issuer: \"$issuer\" }"
        ;;
    auth/client-credentials-basic)
        issuer=$(curl --silent "${url%/mcp}/.well-known/oauth-protected-resource/mcp" | python3 -c 'import json, sys; print(json.load(sys.stdin)["authorization_servers"][0])')
        SECRET=$(context client_secret)
        export SECRET
        auth=", auth: { client_id: $(context client_id), client_secret: '{{ env.SECRET }}', issuer: \"$issuer\" }"
        ;;
    auth/pre-registration)
        SECRET=$(context client_secret)
        export SECRET
        auth=", auth: { grant: login, client_id: $(context client_id), client_secret: '{{ env.SECRET }}', issuer: \"$(context issuer)\" }"
        ;;
    auth/basic-cimd) auth=', auth: { client_id: "https://conformance-test.local/client-metadata.json" }' ;;
esac
case "${MCP_CONFORMANCE_SCENARIO:-}" in
    auth/client-credentials-*) write '  - { id: call, tool: server.test-tool }' ;;
    auth/*)
        write '  - { id: call, tool: server.test-tool }'
        login
        again
        exit
        ;;
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
    elicitation-sep1034-client-defaults)
        more=", questions: true"
        write '  - { id: call, tool: server.test_client_elicitation_defaults }'
        accepts
        exit
        ;;
    *) write '  - { id: call, tool: server.none, on_failure: continue }' ;;
esac
"$FLOW" run p.yaml --trust --quiet
