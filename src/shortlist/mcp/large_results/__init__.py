"""Results of tool calls that are too large for an agent: stored, described, and read in parts."""
