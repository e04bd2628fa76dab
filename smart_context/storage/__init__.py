"""Storage of chats and of all that belongs to them: small ports, and adapters behind them."""
