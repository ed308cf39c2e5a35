#compdef TOOL
# Completes TOOL, by asking it what may stand here. Made by scripts/docs.
_TOOL() {
    local -a lines
    lines=("${(@f)$(RSV_COMPLETIONS=zsh command TOOL -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    if (($? == 1)); then
        compset -P '--*='
        _files
    elif [[ -n $lines ]]; then
        _describe TOOL lines
    fi
}
if [[ $funcstack[1] == _TOOL ]]; then
    _TOOL "$@"
else
    compdef _TOOL TOOL
fi
