#!/usr/bin/env bash
# aider, which always streams and asks for an answer in the user's language: a line a case, for each base address.
set -euo pipefail

export OPENAI_API_KEY=own LITELLM_LOCAL_MODEL_COST_MAP=True
readonly FLAGS=(--model openai/llama3.1 --chat-mode ask --map-tokens 0 --no-git --no-pretty --no-show-model-warnings
    --no-check-update --no-show-release-notes --no-detect-urls --analytics-disable --yes-always)
for base; do
    for case in plain busy refused; do
        told=$(aider "${FLAGS[@]}" --openai-api-base "$base/v1" --message "$case?" </dev/null 2>&1 || true)
        printf '%s: %s\n' "$case" "$(grep -o 'In Évora\.\|nobody may ask this' <<<"$told" | head -n 1)"
    done
done
