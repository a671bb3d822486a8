"""Payments: what a transaction is, what may happen to it, and what the processor may answer.

`moves` has the state machine as rows, `outcomes` the processor's answers as rows; `initiating` and
`follow_ups` walk both. `pricing` and `plans` own the money. Nothing here knows who asks, what time
it is, or which outcome was chosen: all of that is given.
"""
