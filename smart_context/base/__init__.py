"""The foundation of all other packages: settings, files, programs, text and errors."""
