#!/usr/bin/env bash
# Asks the data analyst with a real model, which is too small for the work: a run ends with 0, 5 or 6 and says why, and never in any other way.
#
#     FLOW_REAL_MODEL_URL=$(tests/real/serve.sh) tests/real/analyst.sh target/debug/flow
set -euo pipefail
cd "$(dirname "$0")/../.."
flow=$(realpath "$1")
export FLOW_MODEL=small FLOW_MODEL_BASE_URL="$FLOW_REAL_MODEL_URL/v1" FLOW_MODEL_MAX_OUTPUT_TOKENS=250

ask() {
    local said exit=0
    said=$(timeout 600 "$flow" run pipelines/analyst/pipeline.yaml --trust -q --input "question=$1" --input "files=$2" 2>&1) || exit=$?
    printf -- '- %s: exit %s\n%s\n' "$1" "$exit" "$(tail -n 3 <<<"$said" | cut -c1-400)"
    case "$exit" in
    0) grep -q '"markdown_response": "[^"]' <<<"$said" ;;
    5) grep -q 'quality_not_met: ' <<<"$said" ;;
    6) grep -q '^failed at "' <<<"$said" ;;
    *) return 1 ;;
    esac
}

ask "Hello, who are you?" pipelines/analyst/data/targets.xlsx
ask "How many targets are there?" pipelines/analyst/data/targets.xlsx
ask "What is on this picture?" pipelines/analyst/data/chart.png
