#!/usr/bin/env bash
# Shows that `flow validate` starts nothing, opens no socket and no file but the project's, the system's libraries and the user's settings,
# and says the same whether secrets are set or not. The system calls are traced; where that is not permitted, the script says so and fails
# only if FLOW_REQUIRE_TRACE=1.
#
#     tests/real/only_reads.sh target/debug/flow
set -euo pipefail
flow=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! strace -f -o "$work/probe" true 2>/dev/null; then
    echo "SKIPPED: system calls cannot be traced here (strace is missing or not permitted)"
    [ "${FLOW_REQUIRE_TRACE:-}" != 1 ] || exit 1
    exit 0
fi

# Each thread has its own file: in one file for all, a call of one thread cuts that of another in two lines.
trace() { # LOG COMMAND…
    local log=$1 status=0
    shift
    rm -rf "$log.threads" && mkdir "$log.threads"
    strace -ff -y -e trace=%process,%network,%file,io_uring_setup -o "$log.threads/of" "$@" || status=$?
    awk '{ print FILENAME, $0 }' "$log.threads"/of.* >"$log"
    return "$status"
}

# What a trace shows that a check must not do.
misdeeds() { # LOG PROJECT
    awk -v project="$2" -v home="${HOME:-/nonexistent}" '
        / = -1 / { next }
        /execve(at)?\(/ { if (++started > 1) print "starts a program: " $0; next }
        /[ (](fork|vfork)\(/ { print "starts a process: " $0; next }
        /[ (]clone3?\(/ { if ($0 !~ /CLONE_THREAD/) print "starts a process: " $0; next }
        /[ (](socket|socketpair|connect|bind|listen|accept4?|sendto|sendmsg|io_uring_setup)\(/ { print "opens a socket: " $0; next }
        /[ (](unlink|unlinkat|rename|renameat2?|mkdir|mkdirat|rmdir|chmod|fchmodat|link|linkat|symlink|symlinkat|truncate|mknod|mknodat)\(/ {
            print "changes a file: " $0; next
        }
        /[ (](open|openat|openat2|creat)\(/ {
            if ($0 ~ /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|creat\(/) { print "writes: " $0; next }
            path = $0; sub(/^.* = [0-9]+</, "", path); sub(/>.*$/, "", path)
            if (index(path, project "/") == 1 || path == project) next
            if (path ~ /^\/(usr\/)?lib(64|32)?\// || path ~ /^\/etc\/ld\.so/ || path ~ /^\/usr\/(lib|share)\/locale/) next
            # What the standard library of Rust asks: how much the machine has for this process.
            if (path ~ /^\/proc\/[0-9]+\/(maps|cgroup|mountinfo)$/ || path ~ /^\/sys\/(fs\/cgroup|devices\/system\/cpu)/) next
            # What SQLite asks when it starts, for its index of words.
            if (path == "/dev/urandom") next
            # What the C library asks before a thread gives memory back.
            if (path == "/proc/sys/vm/overcommit_memory") next
            if (index(path, home "/.config/flow/") == 1) next
            print "reads outside of the project: " $0
        }
    ' "$1"
}

# The reader must see each misdeed, or it proves nothing. (Its output is read to the end: with `grep -q` a long one would end in a broken pipe.)
expect() { # WORDS COMMAND…
    local words=$1 found
    shift
    trace "$work/misdeed" "$@" >"$work/said" 2>&1 || true
    found=$(misdeeds "$work/misdeed" "$PWD")
    case "$found" in
    *"$words"*) ;;
    *)
        echo "the reader of traces misses that this $words: $*"
        cat "$work/said"
        tail -20 "$work/misdeed"
        exit 1
        ;;
    esac
}
expect "starts a program" sh -c 'ls >/dev/null; true'
expect "starts a process" sh -c 'ls >/dev/null; true'
expect "reads outside" cat /etc/passwd
expect "writes" sh -c "echo x > '$work/written'"
expect "changes a file" rm -f "$work/written"
expect "opens a socket" bash -c 'exec 3<>/dev/udp/127.0.0.1/9'

watch() { # PROJECT ARGUMENTS…
    local project=$1
    shift
    trace "$work/log" "$flow" validate "$@" >"$work/out" 2>"$work/err" || true
    [ -s "$work/out" ] || [ -s "$work/err" ] || { echo "nothing was said about: $*"; exit 1; }
    local found
    found=$(misdeeds "$work/log" "$project")
    [ -z "$found" ] || { echo "flow validate $*"; echo "$found" | head -20; exit 1; }
}

# Secrets, tools and models of every kind, right and wrong.
mapfile -t cases < <(ls tests/check/ok/*.yaml tests/check/err/F[36]*.yaml)
watch "$PWD" pipelines channels style_guides tests/golden
watch "$PWD" --project tests/check "${cases[@]}"
for variable in CRM_TOKEN TOKEN API_KEY OPENAI_API_KEY ANTHROPIC_API_KEY FLOW_MODEL_API_KEY; do export "$variable=not-a-real-one"; done
cp "$work/out" "$work/without"
watch "$PWD" --project tests/check "${cases[@]}"
cmp "$work/out" "$work/without" || { echo "the output depends on secrets"; exit 1; }
echo "flow validate only reads: ${#cases[@]} cases and the shipped files"
