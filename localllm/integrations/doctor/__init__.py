"""What `localllm doctor` looks at: a file a group of checks, and what each finds is data."""
