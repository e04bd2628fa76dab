"""The `.vault.toml` that `init` writes."""

STARTER_CONFIG = """\
# Smart Context: settings of this vault. Everything here is optional.

[vault]
# name = "My vault"               # default: the folder's name
# memory_dir = ".memory"          # where chats are kept, inside the vault

# Without an endpoint everything runs offline on embedded models, and the chat answers with
# passages of your notes. Any server that speaks the OpenAI API will do.
# [llm]
# base_url = "http://127.0.0.1:11434/v1"
# api_key_env = "OPENAI_API_KEY"  # the NAME of an environment variable, never the key itself
# timeout_s = 60
# max_retries = 2
# context_window = 32000          # tokens that the model takes, answer included
# images = false                  # true: the model is shown attached images

# [llm.categories]                # a model id, a table with its own endpoint, or "embedded"
# chat = "gpt-4o"
# fast = "gpt-4o-mini"
# embedding = { model = "nomic-embed-text", base_url = "http://127.0.0.1:11434/v1" }

[plugins.smart_context]
enabled = true
similarity_threshold = 0.4        # from -1 to 1; higher keeps fewer messages
embedding_search = true           # false: the filter is off in new chats
relevance = "enriched"            # or "plain": bare label against bare message
recent_messages = 2               # newest messages that are always kept
keep_pairs = true                 # a kept answer brings its question

# A plugin of your own, in plugins/<name>/ of this vault:
# [plugins.my_plugin]
# enabled = true
"""
"""A commented `.vault.toml` whose values are the defaults."""
