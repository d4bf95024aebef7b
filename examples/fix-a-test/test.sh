#!/bin/sh
# The tests that must pass.
failed=0
expect() {
    name=$1 wanted=$2
    shift 2
    got=$(sh add.sh "$@")
    if [ "$got" = "$wanted" ]; then
        echo "ok $name"
    else
        echo "not ok $name: wanted $wanted, got $got"
        failed=1
    fi
}
expect "two numbers" 5 2 3
expect "a negative number" -1 2 -3
expect "three numbers" 6 1 2 3
exit $failed
