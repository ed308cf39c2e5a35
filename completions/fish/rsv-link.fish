complete -c rsv-link -l threshold -d 'The least similarity (cosine) of a synapse [default: link.threshold, else the model\'s own]' -r
complete -c rsv-link -l max-degree -d 'At most so many synapses a message, its strongest [default: link.max_degree, 32]' -r
complete -c rsv-link -l path -d 'Print the links of the strongest path between two messages; none: exit status 1' -r
complete -c rsv-link -l format -d 'Show the graph itself: dot, to be drawn by Graphviz, or json' -r -f -a "dot\t''
json\t''"
complete -c rsv-link -l around -d 'With --format: only what is near this message' -r
complete -c rsv-link -l hops -d 'With --around: at most so many links away' -r
complete -c rsv-link -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-link -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-link -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-link -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-link -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-link -l dry-run -d 'Print the links that would be made; nothing is written'
complete -c rsv-link -l rebuild -d 'Make all synapses anew, instead of those of new messages only'
complete -c rsv-link -l adopt -d 'First take over the messages that Reservoir wrote into the same Neo4j graph: each gets an id'
complete -c rsv-link -l stats -d 'Show how each scope hangs together: a line of degrees, components and hubs'
complete -c rsv-link -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-link -s v -l verbose -d 'Print details on standard error'
complete -c rsv-link -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rsv-link -s V -l version -d 'Print version'
