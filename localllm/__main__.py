"""The same program as `localllm`, for `python -m localllm`."""

from localllm.cli import main

if __name__ == "__main__":
    main()
