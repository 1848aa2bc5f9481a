#!/usr/bin/env bash
# The city-facts pipeline against real MCP servers: tests/real/mcp/install.sh first.
#   tests/real/mcp/city_facts.sh target/debug/flow
set -euo pipefail
cd "$(dirname "$0")/../../.."
flow=$(realpath "$1")
servers="$PWD/.real/mcp/python/bin:$PWD/.real/mcp/node/node_modules/.bin"
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cp -r pipelines "$home/pipelines"
cd "$home"

ask() { # PATH EXIT QUESTION; the outputs go to $home/said
    local code=0
    PATH=$1 "$flow" run pipelines/city_facts/pipeline.yaml --trust --json --quiet --input query="$3" >said 2>told || code=$?
    [ "$code" = "$2" ] || { echo "exit $code, not $2: $3"; cat told said; exit 1; }
}

holds() { # a condition on the outputs, in Python
    python3 -c "import json; said = json.load(open('said')); outputs = said['outputs'] or {}; assert $1, said" || { cat told; exit 1; }
}

# The servers are read from the disk once, so that the two seconds they have to start are not spent on that.
PATH="$servers:$PATH" "$flow" doctor --trust pipelines/city_facts/*.yaml >/dev/null 2>&1 || true

ask "$servers:$PATH" 0 "Echo hello, and tell me the temperature and the time in New York City"
holds "outputs['invoked'] == ['temperature', 'local_time', 'echo'] and outputs['errors'] == []"
holds "outputs['temperature']['unit'] == 'F' and outputs['date_time']['timezone'] == 'America/New_York'"
holds "outputs['echo']['echo_text'] == outputs['echo']['original_text']"
# Two servers are not there: the third still answers, and the others are named.
ask "$PATH" 0 "Echo hello, and tell me the temperature and the time in Boston"
holds "said['status'] == 'partial' and len(outputs['errors']) == 2 and outputs['temperature']['city'] == 'Boston'"
ask "$PATH" 6 "the time in Boston"
echo "city facts: three real servers answer, and what is not there is named"
