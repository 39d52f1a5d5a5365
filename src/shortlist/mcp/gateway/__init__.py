"""The gateway to an agent's MCP servers: `gateway_config`, `tool_catalog`, `upstream`, `dispatch`."""
