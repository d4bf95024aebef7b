#!/bin/sh
# Starts a server that leaves the process group and ignores SIGTERM, then hangs.
setsid sh -c 'trap "" TERM; while :; do sleep 1; done' &
echo "dev server started"
echo "waiting for it to answer"
trap '' TERM
while :; do sleep 1; done
