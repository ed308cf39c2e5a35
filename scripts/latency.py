#!/usr/bin/env python3
"""Measures the time that rsv-enrich takes for a request: `latency.py COMMAND...` sends it the lines of stdin one by one,
each after the answer to the one before, and prints the median and the 95th percentile in microseconds, and the mean
number of messages that an answer recalls. The first five do not count, since the filter loads its data then."""

import json
import statistics
import subprocess
import sys
import time

WARM = 5

lines = sys.stdin.readlines()
filter = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
times, recalled = [], []
for line in lines:
    begun = time.perf_counter()
    filter.stdin.write(line)
    filter.stdin.flush()
    answer = filter.stdout.readline()
    times.append(time.perf_counter() - begun)
    if not answer.startswith("{"):
        sys.exit(f"latency.py: error: {sys.argv[1]} gave no answer")
    account = json.loads(answer)["rsv"].get("account", {})
    recalled.append(sum(len(account.get(name, [])) for name in ("recalled", "recent")))
filter.stdin.close()
if filter.wait():
    sys.exit(f"latency.py: error: {' '.join(sys.argv[1:])} ended with {filter.returncode}")
times = sorted(times[WARM:])
print(*(round(1e6 * times[int(share * (len(times) - 1))]) for share in (0.5, 0.95)), statistics.mean(recalled))
