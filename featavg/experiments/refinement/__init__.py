"""Finding averaging in a classifier, and undoing it with finer labels."""
