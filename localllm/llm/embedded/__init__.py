"""The embedded engine: answers from the project by rule, without a model."""
