"""The generated pages, by subject: each function gives the text of one page."""
