#!/usr/bin/env bash
# The command line of Ollama: a line a case, for each base address.
set -euo pipefail

printf '\211PNG\r\n\032\n' >image.png
for base; do
    export OLLAMA_HOST=$base
    printf 'models: %s\n' "$(ollama list | awk 'NR > 1 { print $1 }')"
    printf 'streamed: %s\n' "$(ollama run llama3.1 'streamed?')"
    printf 'piped: %s\n' "$(printf 'of what is piped' | ollama run llama3.1 'piped?')"
    printf 'image: %s\n' "$(ollama run llama3.1 'image? ./image.png' 2>/dev/null)"
    printf 'refused: %s\n' "$(ollama run llama3.1 'refused?' 2>&1 | grep -o 'Error: .*')"
    printf 'busy: %s\n' "$(ollama run llama3.1 'busy?')"
done
