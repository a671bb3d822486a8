"""`sandbox verify`: asks a real UAT which readings of the spec hold there."""
