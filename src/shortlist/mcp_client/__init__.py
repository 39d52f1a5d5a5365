"""Configuration, trust, sign-in and connections of MCP servers."""
