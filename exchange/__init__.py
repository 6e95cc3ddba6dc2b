"""The exchange: a settled market carried out between parties with programs of their own."""
