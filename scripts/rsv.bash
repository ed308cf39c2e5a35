# shellcheck shell=bash
# Functions for bash and zsh: models with memory at the command line, programs that run with memory,
# and forgetting. Source it from ~/.bashrc, or scripts/rsv.zsh from ~/.zshrc; rsv-shell(7) is the
# manual. They need jq.

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
gpty_work() { gpty -p "${USER:-$(id -un)}" -i work "$@"; }
gpty_personal() { gpty -p "${USER:-$(id -un)}" -i personal "$@"; }
gpty_creative() { gpty -p default -i default "$@"; }

# Forgets the last turn of a scope, with its account: rsv-forget-last [-p PARTITION] [-i INSTANCE].
rsv-forget-last() { _rsv_forget rsv-forget-last "$@"; }

# Forgets what was said in the last hour: rsv-forget-hour [-p PARTITION] [-i INSTANCE] [-y].
rsv-forget-hour() { _rsv_forget rsv-forget-hour "$@"; }

# Forgets every message with a word or a phrase: rsv-forget-word [-p PARTITION] [-i INSTANCE] [-y] WORD...
rsv-forget-word() { _rsv_forget rsv-forget-word "$@"; }

# Forgets a part of one scope, and prints what goes. Exit status: 1 if there was nothing; 2 for trouble.
_rsv_forget() {
    local name=$1 partition='' instance='' yes='' words='' trace=''
    local OPTIND=1 OPTARG='' flag='' usage="usage: $1 [-p PARTITION] [-i INSTANCE] [-y]"
    [[ $name != rsv-forget-word ]] || usage+=' WORD...'
    shift
    while getopts :p:i:y flag; do
        case $flag in
            p) partition=$OPTARG ;;
            i) instance=$OPTARG ;;
            y) yes=--yes ;;
            *)
                printf '%s: %s\n' "$name" "$usage" >&2
                return 2
                ;;
        esac
    done
    shift $((OPTIND - 1))
    words=$*
    if [[ $name == rsv-forget-word ]]; then
        [[ $words == *[![:space:]]* ]] || flag=wrong
    else
        [[ -z $words ]] || flag=wrong
    fi
    if [[ $flag == wrong ]]; then
        printf '%s: %s\n' "$name" "$usage" >&2
        return 2
    fi
    : "${partition:=default}" "${instance:=$partition}"
    set -- -p "$partition" -i "$instance" ${yes:+"$yes"}
    case $name in
        rsv-forget-last)
            trace=$(set -o pipefail
                rsv-view -p "$partition" -i "$instance" 1 | jq -r .trace_id) || return 2
            [[ -n $trace ]] || return 1
            rsv-forget "$@" --trace "$trace"
            ;;
        rsv-forget-hour) rsv-forget "$@" --since "$(($(date +%s) - 3600))000" ;;
        # Every message is looked at: a search finds parts of words and other forms too, and only the best.
        *)
            (set -o pipefail
                rsv-export -p "$partition" -i "$instance" |
                    jq -c --arg word "$words" 'select(.kind == "message" and
                        ([.content | .. | strings] | join("\n") | test("(?<!\\w)\\Q" + $word + "\\E(?!\\w)"; "i")))' |
                    rsv-forget "$@" -)
            ;;
    esac
}

# One turn: recalls, asks, shows the answer as it comes, and stores question and answer together. Nothing is stored
# before there is an answer, so that no question finds itself. Exit status: the model's; 1 if it gave no answer; 2 for
# trouble here. Without cgip or ollama, rsv-ask asks in its place.
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
    if [[ $name == gpty ]]; then flag=cgip; else flag=ollama; fi
    if ! command -v "$flag" >/dev/null; then
        rsv-ask -p "$partition" -i "$instance" ${model:+"--model=$model"} -- "$question" </dev/null
        return
    fi
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
