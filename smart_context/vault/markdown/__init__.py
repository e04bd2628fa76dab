"""Reads Markdown: front matter, headings, links, embeds, canvases."""
