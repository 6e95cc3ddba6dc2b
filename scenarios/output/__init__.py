"""Writing without loss: places checked before any work, files and folders written whole."""
