"""The transcripts of the guide to demonstrations are real."""

import re

from sandbox import library
from tests.cli.asking import told
from tests.whole.blocks import blocks_of

GUIDE = "docs/guides/console.md"
TRANSCRIPTS = {
    block.text.partition("\n")[0].removeprefix("$ sandbox "): block.text.partition("\n")[2]
    for block in blocks_of(GUIDE)
    if block.language == "text"
}


def test_a_transcript_is_what_the_command_prints(served):
    for command, transcript in TRANSCRIPTS.items():
        assert told(*command.split(), server=served) == transcript, command


def test_the_table_of_the_guide_leads_to_every_transcript():
    lines = (library.folder("scenarios").parent / GUIDE).read_text().splitlines()
    text = "\n".join(line for line in lines if line.startswith("| "))

    assert [f"scenario play {name}" for name in re.findall(r"\[`(\w+)`\]", text)] == [*TRANSCRIPTS]
