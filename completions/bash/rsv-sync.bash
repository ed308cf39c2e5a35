# Completes rsv-sync: its options, the hosts of ~/.ssh/config, and directories.
_rsv-sync() {
    local hosts=''
    COMPREPLY=()
    case $3 in
        -p | --partition)
            mapfile -t COMPREPLY < <(RSV_COMPLETIONS=bash command rsv-export -- "$2" "rsv-export -p $2" 2>/dev/null)
            return
            ;;
        --store | --config | --identity)
            compopt -o default
            return
            ;;
        --recipient | --remote-path) return ;;
    esac
    if [[ $2 == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--partition --recipient --identity --remote-path --no-vectors --dry-run
            --store --config --quiet --help' -- "$2")
        return
    fi
    [[ ! -r ~/.ssh/config ]] || hosts=$(sed -n 's/^[[:space:]]*[Hh]ost[[:space:]]//p' ~/.ssh/config | grep -v '[*?]')
    mapfile -t COMPREPLY < <(compgen -W "$hosts" -- "$2")
    compopt -o dirnames -o plusdirs
}
complete -F _rsv-sync rsv-sync
