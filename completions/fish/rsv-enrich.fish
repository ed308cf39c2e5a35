complete -c rsv-enrich -l trace -d 'The trace of the turn, instead of a new one' -r
complete -c rsv-enrich -l recall -d 'What is recalled: similar,recent or similar or recent or none' -r
complete -c rsv-enrich -l placement -d 'Where it stands: tail, head or system' -r
complete -c rsv-enrich -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-enrich -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-enrich -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-enrich -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-enrich -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-enrich -l strict -d 'Make a request that is too long an error, instead of an answer that says so'
complete -c rsv-enrich -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-enrich -s v -l verbose -d 'Print details on standard error'
complete -c rsv-enrich -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rsv-enrich -s V -l version -d 'Print version'
