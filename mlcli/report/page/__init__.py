"""report.html, section by section."""
