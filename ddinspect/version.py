"""The version, as a literal: asking the installed package for it costs a tenth of a second."""

__version__ = "0.1.0"
