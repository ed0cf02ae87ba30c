"""A bystander: holds secrets in memory and in an open file, and writes down whatever is done to it."""

import json
import os
import signal
import sys
import tempfile
import time

log_path = sys.argv[1]


def note(number: int, _frame: object) -> None:
    with open(log_path, "a") as log:
        log.write(f"signal {number}\n")


for name in "TERM HUP INT QUIT USR1 USR2 CONT ALRM WINCH IO XCPU XFSZ TSTP TTIN".split():
    signal.signal(getattr(signal, "SIG" + name), note)

in_memory, in_file = json.loads(sys.stdin.readline())
held = tempfile.TemporaryFile()  # noqa: SIM115 - held open is what it is for
held.write(in_file.encode())
held.flush()
os.set_inheritable(held.fileno(), False)
print("ready", flush=True)
deadline = time.monotonic() + 120
while time.monotonic() < deadline:
    time.sleep(0.2)
