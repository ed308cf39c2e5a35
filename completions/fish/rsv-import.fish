complete -c rsv-import -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-import -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-import -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-import -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-import -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-import -l dry-run -d 'Only check the lines and count them; nothing is written'
complete -c rsv-import -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-import -s v -l verbose -d 'Print details on standard error'
complete -c rsv-import -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rsv-import -s V -l version -d 'Print version'
