"""The page report.html, section by section."""
