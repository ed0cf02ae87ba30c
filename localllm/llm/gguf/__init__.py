"""GGUF model files: read their headers, and serve them with llama.cpp's server in a child process."""
