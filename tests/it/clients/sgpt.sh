#!/usr/bin/env bash
# The command line of shell-gpt, which always streams: a line a case, for each base address.
set -euo pipefail

# An error stands in a box as wide as the terminal.
export OPENAI_API_KEY=own DEFAULT_MODEL=llama3.1 PRETTIFY_MARKDOWN=false COLUMNS=500
for base; do
    export API_BASE_URL=$base/v1
    for case in plain busy; do
        printf '%s: %s\n' "$case" "$(sgpt --no-cache --no-functions "$case?" </dev/null)"
    done
    refusal=$(sgpt --no-cache --no-functions 'refused?' </dev/null 2>&1 || true)
    printf 'refused: %s\n' "$(grep -o 'nobody may ask this' <<<"$refusal")"
done
