"""The counts are those of an independent count, on a long text and without a last line break."""

import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

project = Path(sys.argv[1])
subprocess.run(["make", "-s", "clean"], cwd=project, check=True)
subprocess.run(["make", "-s"], cwd=project, check=True, stdout=subprocess.DEVNULL)
dice = random.Random(7)
words = ["".join(dice.choices("abcdefgh", k=dice.randint(1, 6))) for _ in range(3000)]
text = " ".join(dice.choice((str.lower, str.title, str.upper))(dice.choice(words)) for _ in range(20_000)) + " Last"
said = subprocess.run([project / "build/wordfreq"], input=text, capture_output=True, text=True, check=True).stdout
counted = {word: int(count) for count, word in (line.split() for line in said.splitlines())}
assert counted == Counter(re.findall("[a-z]+", text.lower())), (len(counted), sum(counted.values()))
