# The functions of rsv.bash for fish, run by bash. Source it from ~/.config/fish/config.fish; they need bash and jq,
# and rsv-browse needs fzf.

set --global __rsv_functions (path resolve (status filename) | path dirname)/rsv.bash

for name in contextual_cgip_with_ingest contextual_ollama_with_ingest gpty olm gpty_work gpty_personal gpty_creative rsv-with \
    rsv-browse rsv-forget-last rsv-forget-hour rsv-forget-word
    function $name --inherit-variable name --description 'See rsv-shell(7)'
        bash -c 'source "$0" && "$@"' $__rsv_functions $name $argv
    end
end
