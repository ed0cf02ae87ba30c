"""Work given to other agents: one that looks around, or several that share a task."""
