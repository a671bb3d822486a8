"""The readings: where a sentence of the spec can be read in several ways, one of them."""
