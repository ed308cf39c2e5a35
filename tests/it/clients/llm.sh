#!/usr/bin/env bash
# The command line llm: a line a case, for each base address.
set -euo pipefail

printf '\211PNG\r\n\032\n' >image.png
export LLM_USER_PATH=$PWD/llm OPENAI_API_KEY=own
mkdir -p llm
for base; do
    cat >llm/extra-openai-models.yaml <<END
- {model_id: behind, model_name: llama3.1, api_base: $base/v1, vision: true, supports_tools: true}
END
    printf 'plain: %s\n' "$(llm -m behind --no-stream 'plain?')"
    printf 'streamed: %s\n' "$(llm -m behind 'streamed?')"
    told=$(llm -m behind --no-stream --tools-debug 'tools?' \
        --functions $'def locate(place: str) -> str:\n    return "at the church"' 2>debug)
    printf 'tools: %s %s\n' "$(sed -n 's/^Tool call: locate(\(.*\))$/locate \1/p' debug)" "$told"
    printf 'image: %s\n' "$(llm -m behind --no-stream 'image?' -a image.png)"
    printf 'refused: %s\n' "$(llm -m behind --no-stream 'refused?' 2>&1 | grep -o '[0-9]* - .*')"
    printf 'busy: %s\n' "$(llm -m behind --no-stream 'busy?')"
done
