complete -c rsv-proxy -l port -d 'The port [default: 3017, see reservoir_port]; 0 means any that is free' -r
complete -c rsv-proxy -l listen -d 'The address to listen on [default: 127.0.0.1, see reservoir_host]; others than loopback want a token' -r
complete -c rsv-proxy -l log -d 'Tell of each request in a line on standard error: json or text' -r
complete -c rsv-proxy -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-proxy -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-proxy -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-proxy -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-proxy -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-proxy -l ollama -d 'Listen where Ollama does, on port 11434, unless a port is given; Ollama itself must be elsewhere'
complete -c rsv-proxy -l check -d 'Look whether all that is needed is there, say what to do, and exit'
complete -c rsv-proxy -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-proxy -s v -l verbose -d 'Print details on standard error'
complete -c rsv-proxy -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rsv-proxy -s V -l version -d 'Print version'
