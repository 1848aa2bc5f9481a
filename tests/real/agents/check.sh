#!/usr/bin/env bash
# Real agent programs behind flow, against endpoints on this machine: Claude Code with its print mode and over the Agent Client Protocol, and Codex.
# install.sh brings them. They run in flow's sandbox, which lets them reach that one endpoint and nothing else.
#     tests/real/agents/check.sh [PATH OF flow]
set -euo pipefail
cd "$(dirname "$0")/../../.."
flow=$(realpath "${1:-target/debug/flow}")
bin=$PWD/.real/agents/node_modules
codex=$(find "$bin/@openai" -name codex -type f -size +1M | head -1)
place=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
python3 tests/real/agents/models.py "$port" &
models=$!
trap 'kill $models; rm -rf "$place"' EXIT
for _ in $(seq 50); do curl -s -o /dev/null "http://127.0.0.1:$port/" && break; sleep 0.1; done

printf '[sandbox]\nreadable = ["%s"]\n' "$PWD/.real/agents" > "$place/config.toml"
touch "$place/flow.toml"
pipeline() { # NAME, the model's keys, the prompt
    printf 'flow: 1\nname: %s\nsecrets: { KEY: the key of the agent }\npolicies: { p: { file_access: { read: ["**"] }, network_access: { hosts: ["127.0.0.1:%s"] }, allowed_tools: ["execute(git status)"] } }\npolicy: p\nmodels:\n  default: { %s, api_key: "{{ secrets.KEY }}", timeout: 90s, retry: { max_attempts: 1 } }\nagents: { helper: { instructions: You help. } }\nsteps:\n  - { id: ask, agent: helper, prompt: "%s" }\noutputs: { answer: "{{ steps.ask.output }}" }\n' "$1" "$port" "$2" "$3" > "$place/$1.yaml"
}
run() { # NAME, what its answer must hold
    local said
    said=$(cd "$place" && FLOW_CONFIG="$place/config.toml" KEY=dummy PATH="$bin/.bin:$PATH" FLOW_SANDBOX=$kind "$flow" run "$1.yaml" --trust 2> "$place/$1.err") || { echo "$1 in $kind failed:"; cat "$place/$1.err"; exit 1; }
    case $said in *"$2"*) echo "ok  $1 in $kind: $(echo "$said" | tail -1 | cut -c1-90)" ;; *) echo "$1 in $kind said: $said"; exit 1 ;; esac
}
own="model_providers.own={name=\\\"own\\\",base_url=\\\"http://127.0.0.1:$port/v1\\\",wire_api=\\\"responses\\\",env_key=\\\"CODEX_API_KEY\\\"}"
pipeline claude "provider: cli, preset: claude_code, model: stand-in, base_url: 'http://127.0.0.1:$port'" "What is there?"
pipeline codex "provider: cli, preset: codex, model: stand-in, program: ['$codex', exec, --json, --skip-git-repo-check, -c, \"model_provider=\\\"own\\\"\", -c, \"$own\"], network: ['127.0.0.1:$port']" "What is there?"
pipeline codex_reads "provider: cli, preset: codex, model: stand-in, program: ['$codex', exec, --json, --skip-git-repo-check, -c, \"model_provider=\\\"own\\\"\", -c, \"$own\"], network: ['127.0.0.1:$port']" "RUN: cat notes.txt; touch notes.txt; touch made.txt; cat /etc/shadow"
pipeline acp "provider: acp, preset: claude_code, base_url: 'http://127.0.0.1:$port'" "RUN: touch made.txt"
pipeline acp_allowed "provider: acp, preset: claude_code, base_url: 'http://127.0.0.1:$port'" "RUN: git status"

# The shipped pipeline with both of them: they review in turns, each in its session, and their patch is tried.
cp -r pipelines/twin_review "$place/twin_review" && rm -rf "$place/twin_review/work"
python3 - "$place/twin_review" "$port" "$codex" "$own" << 'END'
import json, pathlib, sys
folder, port, codex, own = pathlib.Path(sys.argv[1]), *sys.argv[2:]
def changed(name, *pairs):
    text = (folder / name).read_text()
    for old, new in pairs:
        assert old in text, (name, old)
        text = text.replace(old, new)
    (folder / name).write_text(text)
changed("pipeline.yaml", ("programs.yaml", "real.yaml"), ("hosts: [api.anthropic.com, api.openai.com]", "hosts: ['127.0.0.1:%s']" % port), ("pipelines/twin_review/", "twin_review/"))
words = ["exec", "--json", "--skip-git-repo-check", "-c", 'model_provider="own"', "-c", own.replace('\\"', '"')]
changed("real.yaml", ("preset: claude_code\n", "preset: claude_code\n    model: stand-in\n    base_url: http://127.0.0.1:%s\n" % port),
        ("preset: codex\n", "preset: codex\n    model: stand-in\n    network: ['127.0.0.1:%s']\n    program: %s\n" % (port, json.dumps([codex, *words]))))
END
review() {
    local said
    said=$(cd "$place" && FLOW_CONFIG="$place/config.toml" ANTHROPIC_API_KEY=dummy CODEX_API_KEY=dummy PATH="$bin/.bin:$PATH" FLOW_SANDBOX=$kind "$flow" run twin_review/pipeline.yaml --trust 2> "$place/review.err") || { echo "twin_review in $kind failed:"; cat "$place/review.err"; exit 1; }
    python3 -c 'import json, sys
told = json.load(sys.stdin)
assert told["ended"] == "agreed" and told["turns"] == 2 and "Turn 1:" in told["positions"]["first"] and "Turn 2:" in told["positions"]["second"], told
assert "number = self.last" in told["positions"]["second"], "Codex did not read the line that it speaks of: %s" % told["positions"]
assert told["bug"]["lost_cents"] == 1 and told["fixed"] == {"same_number": 0, "lost_cents": 0}, told' <<< "$said"
    echo "ok  twin_review in $kind: Claude Code and Codex agree, and their patch removes the bugs"
}
echo "the notes of this folder" > "$place/notes.txt"
notes=$(stat -c %y "$place/notes.txt")
for kind in bubblewrap landlock; do
    review
    run claude "Heard: What is there?"
    run codex "Heard: "
    # Its own sandbox would keep it from all; that of flow lets it read, and nothing else.
    run codex_reads "Tool: the notes of this folder"
    run acp "refused permission"
    # With Landlock it may not make the folder below /tmp that it wants for each command.
    [ "$kind" = landlock ] || run acp_allowed "not a git repository"
    blocked=$(cd "$place" && "$flow" audit export --format jsonl | grep '"result":"blocked"' | grep -c '"tool execute touch"' || true)
    [ "$blocked" -ge 1 ] || { echo "the audit does not know that the command was blocked"; exit 1; }
done
[ ! -e "$place/made.txt" ] && [ "$(stat -c %y "$place/notes.txt")" = "$notes" ]
(cd "$place" && "$flow" audit verify)
