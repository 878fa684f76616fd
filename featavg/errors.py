"""The one error that users are meant to read."""


class InputError(ValueError):
    """What was expected, what came, what to do: one sentence. The command line prints it and exits with 2."""
