# Completes rsv-mcp, by asking it what may stand here. Made by scripts/docs.
_rsv-mcp() {
    local reply code=0
    reply=$(RSV_COMPLETIONS=bash command rsv-mcp -- "$2" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null) || code=$?
    COMPREPLY=()
    if ((code == 1)); then
        compopt -o default -o bashdefault
    elif [[ -n $reply ]]; then
        mapfile -t COMPREPLY <<<"$reply"
    fi
}
complete -F _rsv-mcp rsv-mcp
