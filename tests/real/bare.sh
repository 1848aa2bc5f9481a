#!/usr/bin/env bash
# Runs a command as on a machine that has a C compiler and Rust, and none of the programs that some tests need beside them. Needs namespaces; where they
# are not permitted it says so and runs the command with those programs, and fails only if FLOW_REQUIRE_NAMESPACES=1.
# Usage: tests/real/bare.sh COMMAND…
set -euo pipefail

if [ "${1:-}" != inside ]; then
    own=(unshare --mount)
    [ "$(id -u)" = 0 ] || own=(unshare --map-root-user --mount)
    if "${own[@]}" true 2>/dev/null; then exec "${own[@]}" bash "$0" inside "$@"; fi
    echo "namespaces are not permitted here: the other programs can be seen"
    [ "${FLOW_REQUIRE_NAMESPACES:-}" != 1 ]
    exec "$@"
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
exec "$@"
