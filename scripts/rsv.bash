# shellcheck shell=bash
# Functions for bash and zsh: models with memory at the command line, and programs that run with memory.
# Source it from ~/.bashrc, or scripts/rsv.zsh from ~/.zshrc; rsv-shell(7) is the manual. They need jq.

# Asks with cgip: gpty [-p PARTITION] [-i INSTANCE] [-m MODEL] [QUESTION...]. Text from a pipe becomes part of the question.
contextual_cgip_with_ingest() {
    _rsv_ask gpty "$@"
}

# Asks with the ollama command, in the same way. The default model is that of the settings.
contextual_ollama_with_ingest() {
    _rsv_ask olm "$@"
}

# Runs a command whose requests go through the proxy: rsv-with [-p PARTITION] [-i INSTANCE] COMMAND...
rsv-with() {
    if (($# == 0)); then
        echo 'rsv-with: usage: rsv-with [-p PARTITION] [-i INSTANCE] COMMAND...' >&2
        return 2
    fi
    rsv-proxy --quiet "$@"
}

# The names of the functions; an alias of the same name would shadow them.
unalias gpty olm gpty_work gpty_personal gpty_creative 2>/dev/null || :
gpty() { contextual_cgip_with_ingest "$@"; }
olm() { contextual_ollama_with_ingest "$@"; }
gpty_work() { gpty -p work "$@"; }
gpty_personal() { gpty -p personal "$@"; }
gpty_creative() { gpty -p creative "$@"; }

# One turn: recalls, asks, shows the answer as it comes, and stores question and answer together. Nothing is stored
# before there is an answer, so that no question finds itself. Exit status: the model's; 1 if it gave no answer; 2 for
# trouble here.
_rsv_ask() {
    local name=$1 partition='' instance='' model='' question request text answer code=0
    local OPTIND=1 OPTARG='' flag=''
    shift
    while getopts :p:i:m: flag; do
        case $flag in
            p) partition=$OPTARG ;;
            i) instance=$OPTARG ;;
            m) model=$OPTARG ;;
            *)
                printf '%s: usage: %s [-p PARTITION] [-i INSTANCE] [-m MODEL] [QUESTION...]\n' "$name" "$name" >&2
                return 2
                ;;
        esac
    done
    shift $((OPTIND - 1))
    question=$*
    if [[ ! -t 0 ]]; then
        answer=$(cat 2>/dev/null) || :
        [[ -z $question || -z $answer ]] || question+=$'\n\n'
        question+=$answer
    fi
    if [[ $question != *[![:space:]]* ]]; then
        printf '%s: error: there is no question: give it as words, or pipe it in\n' "$name" >&2
        return 2
    fi
    if [[ $name == olm && -z $model ]] && ! model=$(rsv-config get model); then
        printf '%s: error: no model is named: give -m MODEL, or run: rsv-config set model MODEL\n' "$name" >&2
        return 2
    fi
    : "${partition:=default}" "${instance:=$partition}"
    request=$(set -o pipefail
        printf '%s' "$question" |
            jq -Rsc --arg model "$model" '{messages: [{role: "user", content: .}]}
                + (if $model == "" then {} else {model: $model} end)' |
            rsv-enrich --strict -p "$partition" -i "$instance") || return 2
    text=$(printf '%s' "$request" | jq -r '.messages[-1].content') || return 2
    if [[ $name == olm ]]; then
        set -- ollama run "$model"
    elif [[ -n $model ]]; then
        set -- cgip -M "$model"
    else
        set -- cgip
    fi
    # What is captured is a pipe, which can be opened once more by its name; standard output may be a file, which
    # must not be.
    {
        answer=$(set -o pipefail
            { "$@" < <(printf '%s\n' "$text") | tee /dev/fd/3 >&4; } 3>&1) || code=$?
    } 4>&1
    if [[ $code == 0 && $answer != *[![:space:]]* ]]; then
        printf '%s: error: there is no answer, and nothing was stored\n' "$name" >&2
        code=1
    fi
    [[ $code == 0 ]] || return "$code"
    { printf '%s\n' "$request" && printf '%s' "$answer" | jq -Rs .; } |
        jq -sc '{choices: [{index: 0, message: {role: "assistant", content: .[1]}}], rsv: .[0].rsv}
            + (.[0] | if .model then {model} else {} end)' |
        rsv-ingest >/dev/null || return 2
}
