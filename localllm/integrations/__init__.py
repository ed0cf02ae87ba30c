"""Connections to the surroundings: the machine the program runs on, the folder it works in."""
