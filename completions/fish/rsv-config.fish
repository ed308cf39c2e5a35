# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_rsv_config_global_optspecs
    string join \n p/partition= i/instance= store= config= color= q/quiet v/verbose h/help V/version
end

function __fish_rsv_config_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_rsv_config_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_rsv_config_using_subcommand
    set -l cmd (__fish_rsv_config_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c rsv-config -n "__fish_rsv_config_needs_command" -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-config -n "__fish_rsv_config_needs_command" -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-config -n "__fish_rsv_config_needs_command" -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-config -n "__fish_rsv_config_needs_command" -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-config -n "__fish_rsv_config_needs_command" -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-config -n "__fish_rsv_config_needs_command" -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-config -n "__fish_rsv_config_needs_command" -s v -l verbose -d 'Print details on standard error'
complete -c rsv-config -n "__fish_rsv_config_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rsv-config -n "__fish_rsv_config_needs_command" -s V -l version -d 'Print version'
complete -c rsv-config -n "__fish_rsv_config_needs_command" -f -a "get" -d 'Print a value; exit status 1 if there is none'
complete -c rsv-config -n "__fish_rsv_config_needs_command" -f -a "set" -d 'Write a value into the settings\' file'
complete -c rsv-config -n "__fish_rsv_config_needs_command" -f -a "unset" -d 'Take a value out of the settings\' file'
complete -c rsv-config -n "__fish_rsv_config_needs_command" -f -a "list" -d 'Show every key, its value, where that came from, and what it is for'
complete -c rsv-config -n "__fish_rsv_config_needs_command" -f -a "edit" -d 'Open the settings\' file in VISUAL or EDITOR, and check it'
complete -c rsv-config -n "__fish_rsv_config_needs_command" -f -a "path" -d 'Print where the settings\' file is, or would be'
complete -c rsv-config -n "__fish_rsv_config_needs_command" -f -a "init" -d 'Make the first settings; on a terminal, and without flags, by asking'
complete -c rsv-config -n "__fish_rsv_config_needs_command" -f -a "doctor" -d 'Check all that the tools need, and say what to do'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand get" -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand get" -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand get" -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand get" -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-config -n "__fish_rsv_config_using_subcommand get" -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-config -n "__fish_rsv_config_using_subcommand get" -l show-origin -d 'Print where the value came from before it, and a tab'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand get" -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand get" -s v -l verbose -d 'Print details on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand get" -s h -l help -d 'Print help'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand set" -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand set" -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand set" -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand set" -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-config -n "__fish_rsv_config_using_subcommand set" -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-config -n "__fish_rsv_config_using_subcommand set" -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand set" -s v -l verbose -d 'Print details on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand set" -s h -l help -d 'Print help'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand unset" -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand unset" -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand unset" -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand unset" -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-config -n "__fish_rsv_config_using_subcommand unset" -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-config -n "__fish_rsv_config_using_subcommand unset" -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand unset" -s v -l verbose -d 'Print details on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand unset" -s h -l help -d 'Print help'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand list" -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand list" -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand list" -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand list" -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-config -n "__fish_rsv_config_using_subcommand list" -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-config -n "__fish_rsv_config_using_subcommand list" -l set -d 'Only what somebody set'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand list" -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand list" -s v -l verbose -d 'Print details on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand list" -s h -l help -d 'Print help'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand edit" -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand edit" -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand edit" -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand edit" -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-config -n "__fish_rsv_config_using_subcommand edit" -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-config -n "__fish_rsv_config_using_subcommand edit" -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand edit" -s v -l verbose -d 'Print details on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand edit" -s h -l help -d 'Print help'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand path" -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand path" -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand path" -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand path" -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-config -n "__fish_rsv_config_using_subcommand path" -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-config -n "__fish_rsv_config_using_subcommand path" -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand path" -s v -l verbose -d 'Print details on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand path" -s h -l help -d 'Print help'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand init" -l model -d 'The model for requests that name none' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand init" -l fetch -d 'Download an embedding model [default: all-minilm-l6-v2]' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand init" -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand init" -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand init" -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand init" -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-config -n "__fish_rsv_config_using_subcommand init" -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-config -n "__fish_rsv_config_using_subcommand init" -l force -d 'Overwrite what the settings\' file says'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand init" -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand init" -s v -l verbose -d 'Print details on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand init" -s h -l help -d 'Print help'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand doctor" -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand doctor" -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand doctor" -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-config -n "__fish_rsv_config_using_subcommand doctor" -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-config -n "__fish_rsv_config_using_subcommand doctor" -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-config -n "__fish_rsv_config_using_subcommand doctor" -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand doctor" -s v -l verbose -d 'Print details on standard error'
complete -c rsv-config -n "__fish_rsv_config_using_subcommand doctor" -s h -l help -d 'Print help'
