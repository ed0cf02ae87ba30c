"""Which model servers there are: found by asking, known by their answers and not by their ports."""
