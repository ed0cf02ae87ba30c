"""A process that logs runs of an ensemble: FILE NAME COUNT [TEXT_LENGTH]. COUNT 0 goes on until it is killed.

Prints the key of each failure the log reports, and "done" at the end.
"""

import sys
import time
from pathlib import Path

from localllm.base.errors import LocalLLMError
from localllm.ensemble.request_log import RequestLog
from tests.support.ensemble_runs import QUESTION, answer, result


def main() -> None:
    """Log them."""
    file, name, count, length = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int((*sys.argv, "100")[4])

    def report(error: LocalLLMError) -> None:
        print(error.key, flush=True)

    log = RequestLog(file, on_failure=report)
    number = 0
    while not count or number < count:
        log.add(QUESTION, result(f"{name}-{number}", [answer(one, one * length) for one in "abc"]))
        number += 1
        if number % 10 == 0:
            time.sleep(0.01)
    log.close()
    print("done", flush=True)


if __name__ == "__main__":
    main()
