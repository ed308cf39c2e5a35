#!/usr/bin/env bash
# The command line cgip: a line a case, for each base address.
set -euo pipefail

export OPENAI_API_KEY=own
for base; do
    export OPENAI_BASE_URL=$base/v1
    printf 'plain: %s\n' "$(cgip -M llama3.1 'plain?' </dev/null)"
    printf 'piped: %s\n' "$(printf 'of what is piped' | cgip -M llama3.1 'piped?')"
    printf 'refused: %s\n' "$(cgip -M llama3.1 'refused?' </dev/null 2>&1 | sed -n 's/^Error while parsing response object: //p')"
    printf 'busy: %s\n' "$(cgip -M llama3.1 'busy?' </dev/null)"
done
