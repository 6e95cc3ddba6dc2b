"""Writing without losing: places looked at before any work, files and folders that are whole, and whose they are."""
