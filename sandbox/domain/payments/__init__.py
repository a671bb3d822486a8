"""Payments: what a transaction is, what may happen to it, and what the processor may answer.

`moves` has the state machine as rows, `outcomes` the processor's answers as rows; `initiating` and
`follow_ups` walk both. `pricing` and `action_plans` own the money. Caller, time and chosen
outcome are arguments.
"""
