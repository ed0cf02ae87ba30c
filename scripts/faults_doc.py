#!/usr/bin/env python3
"""Write what happens when a model server fails, from the data the tests play, so that it cannot tell anything else.

.venv/bin/python scripts/faults_doc.py > docs/faults.md
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    sys.path.insert(0, str(ROOT))
    from tests.support.faults import document

    sys.stdout.write(document())


if __name__ == "__main__":
    main()
