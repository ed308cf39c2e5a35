# Completes rsv-mcp, by asking it what may stand here. Made by scripts/docs.
function __fish_complete_rsv-mcp
    set -l token (commandline --current-token)
    set -l word (string unescape -- $token; or string trim --left --chars '"\'' -- $token)
    RSV_COMPLETIONS=fish command rsv-mcp -- (commandline --current-process --tokenize --cut-at-cursor) "$word" 2>/dev/null
    if test $status -eq 1
        set -l option (string match --regex -- '^--[^=]*=' $word)
        __fish_complete_path (string replace -- "$option" '' $word) | string replace --regex -- '^' "$option"
    end
end
complete --command rsv-mcp --no-files --arguments '(__fish_complete_rsv-mcp)'
