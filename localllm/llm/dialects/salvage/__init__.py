"""Calls, and thinking, that a model wrote into its text."""
