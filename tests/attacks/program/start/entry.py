"""What the console script of the package does."""

from localllm.cli import main

main()
