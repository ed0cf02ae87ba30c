"""The ensemble over HTTP: the paper's API, event streams, an OpenAI-compatible API, and access control.

Only this package imports FastAPI and uvicorn; it is imported when a server starts.
"""
