#!/usr/bin/env bash
# Runs test binaries as on a machine that has a C compiler and Rust, and none of the programs that some tests need beside them: all tests pass, and those
# that could not try something say so. Needs namespaces; where they are not permitted it says so, and fails only if FLOW_REQUIRE_NAMESPACES=1.
# Usage: tests/real/bare.sh BINARY…
set -euo pipefail

if [ "${1:-}" != inside ]; then
    own=(unshare --mount)
    [ "$(id -u)" = 0 ] || own=(unshare --map-root-user --mount)
    if ! "${own[@]}" true 2>/dev/null; then
        echo "namespaces are not permitted here: nothing was run without the other programs"
        [ "${FLOW_REQUIRE_NAMESPACES:-}" != 1 ]
        exit
    fi
    exec "${own[@]}" bash "$0" inside "$@"
fi
shift

hidden=()
for program in bash bwrap curl git node npm python3 strace; do
    for path in $(type -aP "$program") "/usr/bin/$program"; do
        path=$(realpath "$path")
        # The shell of the system may be one of them.
        if [ -f "$path" ] && [ "$path" != "$(realpath /bin/sh)" ]; then hidden+=("$path"); fi
    done
done
for path in $(printf '%s\n' "${hidden[@]}" | sort -u); do mount --bind /dev/null "$path"; done

told=$(mktemp)
trap 'rm -f "$told"' EXIT
for binary in "$@"; do
    env -u FLOW_REQUIRE_EXTRAS -u FLOW_REQUIRE_REAL_MODEL -u FLOW_REQUIRE_YAML_SUITE "$binary" --quiet 2>&1 | tee -a "$told"
done
grep -q '^NOT TRIED ' "$told" || { echo "no test said what it could not try"; exit 1; }
