#!/bin/sh
# The same without a supervisor: the script drives its own loop and asks after each frame.
# Usage: render.sh POLICY

run=$(backstop begin --policy "$1" --total-units 8) || exit
for frame in 0 1 2 3 4 5 6 7; do
    # Stands for real work: every third frame is bad.
    if [ $((frame % 3)) -ne 2 ]; then status=approved; else status=rejected; fi
    echo "frame $frame: $status"
    backstop emit --run "$run" unit --id "frame-$frame" --index "$frame" --status "$status" \
        --attempts 1 --break >/dev/null || break
done
backstop end --run "$run" >/dev/null
code=$?
echo "the run ended with $code"
exit "$code"
