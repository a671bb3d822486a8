"""What decides how the processor answers: next outcomes, test cards, terminals and amounts."""
