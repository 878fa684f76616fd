"""What users name on the command line: data and models, by path or by name."""
