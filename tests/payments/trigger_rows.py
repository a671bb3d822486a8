"""What each amount of the nine-thousand blocks stands for, transcribed from assumed 6.2."""

HOST_CODES = {
    900000: "approved",
    900001: "refer_to_issuer",
    900002: "refer_to_issuer_special",
    900003: "invalid_merchant",
    900004: "pick_up_card",
    900005: "do_not_honor",
    900006: "general_error",
    900007: "pick_up_fraud",
    900008: "approved_with_id",
    900010: "partial_approval",
    900012: "invalid_transaction",
    900013: "invalid_amount",
    900014: "invalid_card_number",
    900015: "no_such_issuer",
    900019: "re_enter",
    900028: "file_unavailable",
    900030: "format_error",
    900041: "lost_card",
    900043: "stolen_card",
    900051: "insufficient_funds",
    900054: "expired_card",
    900055: "incorrect_pin",
    900057: "not_permitted_card",
    900058: "not_permitted_terminal",
    900059: "suspected_fraud",
    900061: "exceeds_withdrawal_limit",
    900062: "restricted_card",
    900063: "security_violation",
    900065: "activity_limit_exceeded",
    900070: "pin_required",
    900075: "pin_tries_exceeded",
    900078: "no_account",
    900081: "crypto_error",
    900085: "no_reason_to_decline",
    900091: "issuer_unavailable",
    900092: "invalid_routing",
    900093: "violation",
    900094: "duplicate_event",
    900096: "system_malfunction",
}
"""$9,000: host codes. Those of follow-ups alone (21, 76, 77, 79) mean nothing to an initiation."""

NOT_FOR_INITIATIONS = {
    900021: "unable_to_back_out",
    900076: "no_matching_original",
    900077: "inconsistent_data",
    900079: "already_reversed",
}

TECHNICAL = {
    900101: "processor_timeout",
    900102: "timed_out",
    900103: "network_connectivity_error",
    900104: "invalid_gateway_response",
    900105: "format_error",
    900106: "payment_failed",
    900107: "invalid_terminal",
    900108: "duplicate_event",
    900109: "user_canceled",
    900110: "merchant_canceled",
    900111: "surcharge_prompt",
    900112: "surcharge_declined_by_payer",
    900113: "surcharge_expired",
    900114: "pending_forever",
}

LATER = {
    900201: ("capture", "capture_declined"),
    900202: ("incremental_auth", "incremental_auth_declined"),
    900203: ("refund", "refund_declined"),
    900204: ("reverse", "already_reversed"),
    900205: ("tip_adjust", "invalid_tip_adjustment"),
    900206: ("confirm", "do_not_honor"),
    900211: ("capture", "processor_timeout"),
    900212: ("incremental_auth", "processor_timeout"),
    900213: ("refund", "processor_timeout"),
    900214: ("reverse", "processor_timeout"),
    900215: ("tip_adjust", "processor_timeout"),
    900216: ("confirm", "processor_timeout"),
    900221: ("capture", "network_connectivity_error"),
    900222: ("incremental_auth", "network_connectivity_error"),
    900223: ("refund", "network_connectivity_error"),
    900224: ("reverse", "network_connectivity_error"),
    900225: ("tip_adjust", "network_connectivity_error"),
    900226: ("confirm", "network_connectivity_error"),
}

HTTP_FAULTS = {
    900300: (500, "http_500"),
    900302: (502, "http_502"),
    900303: (503, "http_503"),
    900304: (504, "http_504"),
    900329: (429, "http_429"),
}
DROPS = {900308: "drop_before", 900309: "drop_after"}

SETTLEMENTS = (900401, 900402, 900403, 900404, 900405, 900409)
