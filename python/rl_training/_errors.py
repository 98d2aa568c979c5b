"""Exceptions of the package."""


class Error(Exception):
    """Any error of the library.

    ``file``, ``line`` and ``key`` say where the problem is; each is None if it does not apply.
    """

    def __init__(self, message, file=None, line=None, key=None):
        super().__init__(message)
        self.file = file
        self.line = line
        self.key = key


class ConfigError(Error, ValueError):
    """A keyword argument, an option of a config or an environment is invalid."""


class DataError(Error, ValueError):
    """A dataset or an array is invalid."""


class CheckpointError(Error):
    """A checkpoint is damaged or does not match its config or environment."""


class DivergedError(Error, ArithmeticError):
    """A loss or a parameter of a network is no longer finite. The last valid checkpoint is kept."""


class IoError(Error, OSError):
    """A file cannot be read or written."""


BY_KIND = {
    "config": ConfigError,
    "data": DataError,
    "checkpoint": CheckpointError,
    "diverged": DivergedError,
    "io": IoError,
    "internal": Error,
}
