#!/usr/bin/env bash
# Uses flow as people use it in builds and editors: its hooks by pre-commit itself, the steps of its GitHub action by bash with the variables of a runner,
# the examples of docs/ci.md against the schemas of the services, the summary of a pull request by GitHub's parser of Markdown, and the packed extension for VS Code against a stand-in for the editor.
#
#     tests/real/ci/check.sh target/debug/flow
set -euo pipefail
flow=$(realpath "$1")
cd "$(dirname "$0")/../../.."
[ -x .real/ci/bin/pre-commit ] || python3 -m venv .real/ci
.real/ci/bin/python -m pip install --quiet --disable-pip-version-check -r tests/real/ci/requirements.txt
.real/ci/bin/python tests/real/ci/hooks.py "$flow"
.real/ci/bin/python tests/real/ci/action.py "$flow"
.real/ci/bin/python tests/real/ci/summary.py "$flow"

npm ci --silent --ignore-scripts --prefix tests/real/ci
npm ci --silent --ignore-scripts --prefix editors/vscode
rm -rf .real/vscode && mkdir -p .real/vscode
(cd editors/vscode && ../../tests/real/ci/node_modules/.bin/vsce package --allow-missing-repository --skip-license -o ../../.real/vscode/flow.vsix >../../.real/vscode/log 2>&1) || {
    cat .real/vscode/log
    exit 1
}
python3 -m zipfile -e .real/vscode/flow.vsix .real/vscode
node editors/vscode/test/drive.js "$flow" .real/vscode/extension
