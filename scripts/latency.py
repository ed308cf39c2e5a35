#!/usr/bin/env python3
"""Measures the time that a filter takes for a line: `latency.py COMMAND...` sends it the lines of stdin one by one,
each after the answer to the one before, and prints the median and the 95th percentile in microseconds. The first five
do not count, since the filter loads its data then."""

import subprocess
import sys
import time

WARM = 5

lines = sys.stdin.readlines()
filter = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
times = []
for line in lines:
    begun = time.perf_counter()
    filter.stdin.write(line)
    filter.stdin.flush()
    if not filter.stdout.readline():
        sys.exit(f"latency.py: {sys.argv[1]} gave no answer")
    times.append(time.perf_counter() - begun)
filter.stdin.close()
filter.wait()
times = sorted(times[WARM:])
print(*(round(1e6 * times[int(share * (len(times) - 1))]) for share in (0.5, 0.95)))
