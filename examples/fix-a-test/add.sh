#!/bin/sh
# Adds whole numbers. Two things are wrong with it.
    negative=no
    arguments=two
sum=0
count=0
for number in "$@"; do
    count=$((count + 1))
    [ "$arguments" = two ] && [ "$count" -gt 2 ] && break
    [ "$negative" = no ] && number=${number#-}
    sum=$((sum + number))
done
echo "$sum"
