#!/usr/bin/env python3
"""Pack scripts/synonyms.txt for the program: as text among its modules it would be found for every question about them.

.venv/bin/python scripts/pack_synonyms.py
"""

import gzip
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

packed = gzip.compress((ROOT / "scripts" / "synonyms.txt").read_bytes(), mtime=0)
(ROOT / "localllm" / "text" / "synonyms.txt.gz").write_bytes(packed)
