"""What languages make words of: grammars, nouns, tokens."""
