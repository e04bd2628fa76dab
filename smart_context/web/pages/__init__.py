"""HTML: the pages and their fragments."""
