"""A model file without a server of its own: what the file says of itself, and llama.cpp's server in a child process."""
