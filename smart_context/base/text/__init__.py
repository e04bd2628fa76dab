"""Words: tokens, stems, stop words and lexical scores."""
