"""The log of a server: lines of text, or one JSON object for each line."""

import json
import logging
import sys
from datetime import UTC, datetime

from sandbox.domain.text import printable
from sandbox.settings import LogFormat


class JsonLines(logging.Formatter):
    """One JSON object per record; that of a request has fields of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON, with its traceback if it has one."""
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().rstrip(),
        }
        line |= getattr(record, "request", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


class TextLines(logging.Formatter):
    """One line per record, even if clients send line breaks; a traceback is indented below it."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text that a terminal prints and does not obey."""
        lines = [f"{record.levelname} {printable(record.getMessage().rstrip())}"]
        if record.exc_info:
            traceback = self.formatException(record.exc_info).splitlines()
            lines += [f"  {printable(line)}" for line in traceback]
        return "\n".join(lines)


def set_up_logging(log_format: LogFormat) -> None:
    """Send the log of the sandbox and of uvicorn to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    for name, level in (("sandbox", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
