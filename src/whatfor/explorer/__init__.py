"""The page to question an agent: one file, or a small server."""
