#!/usr/bin/env bash
# The command line aichat: a line a case, for each base address.
set -euo pipefail

printf '\211PNG\r\n\032\n' >image.png
export AICHAT_CONFIG_DIR=$PWD/aichat
mkdir -p aichat
for base; do
    cat >aichat/config.yaml <<END
model: behind:llama3.1
clients:
  - {type: openai-compatible, name: behind, api_base: $base/v1, api_key: own,
     models: [{name: llama3.1, supports_vision: true}]}
END
    printf 'plain: %s\n' "$(aichat -S 'plain?' </dev/null)"
    printf 'streamed: %s\n' "$(aichat 'streamed?' </dev/null)"
    printf 'image: %s\n' "$(aichat -S -f image.png -- 'image?' </dev/null)"
    printf 'refused: %s\n' "$(aichat -S 'refused?' </dev/null 2>&1 | grep -o 'nobody may ask this')"
    printf 'busy: %s\n' "$(aichat -S 'busy?' </dev/null)"
done
