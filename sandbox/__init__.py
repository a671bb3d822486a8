"""A card-present payment sandbox: the platform's API on localhost, scriptable and deterministic."""

__version__ = "0.2.0"
