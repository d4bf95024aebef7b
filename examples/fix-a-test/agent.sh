#!/bin/sh
# Plays a coding agent: each time it is called it looks at one failing line of add.sh and mends it.
# A real agent would be called here, with the prompt on standard input.
# It works on a copy in a temporary folder, so that the example can be run again.

here=$(dirname "$0")
work=${TMPDIR:-/tmp}/backstop-fix-a-test-$BACKSTOP_RUN_ID
if [ ! -d "$work" ]; then
    mkdir "$work" && cp "$here/add.sh" "$here/test.sh" "$work" || exit 1
fi
cd "$work" || exit 1

echo "reading the failing test"
failing=$(sh test.sh 2>&1 | grep '^not ok' | head -n 1)
echo "  $failing"
case $failing in
*negative*) sed -i 's/^\( *\)negative=.*/\1negative=yes/' add.sh ;;
*three*) sed -i 's/^\( *\)arguments=.*/\1arguments=all/' add.sh ;;
esac
sh test.sh && rm -r "$work"
