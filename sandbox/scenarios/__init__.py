"""Choosing the processor's answer: scenario files, next outcomes, cards, terminals, amounts."""
