"""The one error that users are meant to read."""


class InputError(ValueError):
    """What was expected, what came, what to do: one sentence. The command line prints it and exits with 2."""


LONGEST = 160  # letters of a reason


def reason(error: BaseException) -> str:
    """What a foreign error says, short enough to stand in a sentence of ours; our own errors say it themselves.

    >>> reason(EOFError("cut off" + chr(10) + "at byte 7"))
    'EOFError: cut off'
    """
    text = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
    line = next(iter(text.splitlines()), "")
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
