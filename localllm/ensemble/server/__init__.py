"""The ensemble over HTTP: the paper's API, event streams, an OpenAI-compatible API, and what guards them.

Only what is in here imports FastAPI and uvicorn; it is imported when a server starts.
"""
