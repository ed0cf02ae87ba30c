"""A coding and research assistant for the terminal that lives on the user's own models."""

__version__ = "0.1.0"
