#!/bin/sh
# A loop without a supervisor: after each unit it asks backstop, and goes on while the answer is 0.
# With --break, 0 means "go on" and nothing else: 1 is "complete", any other code a stop reason's.
# Usage: shell-loop.sh POLICY

policy=$1
events=$(mktemp)
trap 'rm -f "$events"' EXIT

render() { # Stands for real work: every third frame is bad.
    [ $(($1 % 3)) -ne 2 ]
}

for frame in 0 1 2 3 4 5 6 7 8 9; do
    if render "$frame"; then status=approved; else status=rejected; fi
    printf '{"type":"unit","id":"frame-%s","status":"%s","attempts":1}\n' "$frame" "$status" >>"$events"
    echo "frame $frame: $status"
    backstop check --policy "$policy" --events "$events" --break >/dev/null
    code=$?
    [ "$code" -eq 0 ] || break
done

echo "the loop ended with $code"
exit "$code"
