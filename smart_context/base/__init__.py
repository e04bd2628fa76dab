"""What everything else is built on: settings, files, programs, text and errors."""
