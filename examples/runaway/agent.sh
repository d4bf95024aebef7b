#!/bin/sh
# Does nothing, costs money, and says that all is well. Each call spends 30 cents.
echo "Looking good, carrying on."
echo '::backstop {"type":"usage","input_tokens":20000,"output_tokens":1500,"cost_usd":0.3}'
