"""Payments: transactions, their transitions, and the answers of the processor.

`transitions` holds the state machine as rows, `outcomes` the answers of the processor as rows;
`initiation` and `follow_ups` apply both. `pricing` and `action_plans` compute the money. The
caller, the time and the chosen outcome are arguments.
"""
