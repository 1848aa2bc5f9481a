#!/usr/bin/env bash
# Brings a DuckDB library that is already compiled into .real/duckdb/ (ignored by git) and prints the folder. Safe to run again.
#
# The Node.js bindings of DuckDB carry it. Its version must be that of the crate `duckdb` in Cargo.toml (1.10506 is DuckDB 1.5.6).
set -euo pipefail
cd "$(dirname "$0")/../.."

version=1.5.6-r.1
sha256=3f4962cdd266eab2b479a5b5a4a6d063d279b2954ae814ed00385d553b747633
folder="$PWD/.real/duckdb"
if [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "no compiled library is known for $(uname -sm); set DUCKDB_LIB_DIR, or build with --features duckdb-bundled" >&2
    exit 1
fi
if ! echo "$sha256  $folder/libduckdb.so" | sha256sum --check --status 2>/dev/null; then
    rm -rf "$folder" && mkdir -p "$folder"
    npm pack --silent --pack-destination "$folder" "@duckdb/node-bindings-linux-x64@$version" >/dev/null
    tar -xzf "$folder"/*.tgz -C "$folder" --strip-components=1 package/libduckdb.so package/LICENSE
    rm "$folder"/*.tgz
    echo "$sha256  $folder/libduckdb.so" | sha256sum --check --quiet
fi
echo "$folder"
