"""Where the program meets what is around it: the machine it runs on, the folder it works in."""
