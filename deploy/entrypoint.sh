#!/bin/sh
# Reads secrets from files, as containers are given them: NAME_FILE names the file that holds NAME.
set -eu

for name in BACKSTOP_STORE PGPASSWORD BACKSTOP_GITHUB_TOKEN BACKSTOP_GITHUB_SECRET; do
    eval "file=\${${name}_FILE:-}"
    [ -n "$file" ] || continue
    if [ ! -r "$file" ]; then
        echo "entrypoint: ${name}_FILE names $file, which can't be read" >&2
        exit 66
    fi
    eval "$name=\$(cat \"\$file\")"
    # shellcheck disable=SC2163 # The variable's name is in the variable.
    export "$name"
    unset "${name}_FILE"
done

exec backstop "$@"
