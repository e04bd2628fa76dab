"""Where chats and what stands beside them are kept: small ports, and adapters behind them."""
