"""The vault as tools for agents, by MCP; the tools are commands, too (`tools.*`)."""
