#!/usr/bin/env bash
# Starts the real test model in the background and prints its base URL; the caller ends it by the id in .real/model.pid:
#
#     export FLOW_REAL_MODEL_URL=$(tests/real/serve.sh) && cargo test --test it real_model; kill "$(cat .real/model.pid)"
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ ! -x .real/model/bin/python ]; then
    echo "no model in .real/: run tests/real/install.sh" >&2
    exit 2
fi
rm -f .real/model.url
nohup .real/model/bin/python tests/real/model_server.py "$@" >.real/model.url 2>.real/model.log </dev/null &
echo $! >.real/model.pid
for _ in $(seq 240); do
    if [ -s .real/model.url ]; then
        head -n 1 .real/model.url
        exit 0
    fi
    if ! kill -0 "$(cat .real/model.pid)" 2>/dev/null; then
        break
    fi
    sleep 0.5
done
echo "the model server did not start; its last lines:" >&2
tail -n 5 .real/model.log >&2
exit 1
