"""Discovery of model servers, recognised by their answers rather than by their ports."""
