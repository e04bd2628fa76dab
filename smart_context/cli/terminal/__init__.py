"""The common parts of all verbs: printing, progress, arguments."""
