"""HTML: the pages, and the parts of them that are rendered again."""
