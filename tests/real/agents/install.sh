#!/usr/bin/env bash
# Installs the agent programs that check.sh asks into .real/agents (0.8 GB, from npm).
set -euo pipefail
cd "$(dirname "$0")/../../.."
mkdir -p .real/agents
cd .real/agents
npm install --silent --no-audit --no-fund @anthropic-ai/claude-code@2.1.197 @openai/codex@0.171.0 @zed-industries/claude-agent-acp@0.23.1 > /dev/null
node node_modules/@anthropic-ai/claude-code/install.cjs > /dev/null
node_modules/.bin/claude --version
node_modules/.bin/codex --version
