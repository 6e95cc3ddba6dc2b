"""Reports: words, figures and pages, made from saved results only."""
