"""The processor's answers and their amount triggers, transcribed row by row: assumed 5.2, 6.2.

`issuer` stands for every operation: an issuer can decline each of them (assumed 5.2-declines).
"""

from typing import NamedTuple


class Row(NamedTuple):
    """One outcome. `-` says that no answer came, `null` that the answer lacks this."""

    key: str
    scope: tuple[str, ...]
    status: str
    status_reason: str
    resp: str
    host: str
    message: str
    approval: str
    gtid: str
    ms: int
    retry: str


# key; scope; status; status_reason; resp; host; message; approval; gtid; ms; retry
_TABLE = """
approved;any;ok;approved;A;00;APPROVAL;num;yes;900;no
approved_with_id;init;ok;approved;A;08;APPROVAL;num;yes;900;no
no_reason_to_decline;init;ok;approved;A;85;CARD OK;num;yes;900;no
partial_approval;init conf;ok;partial_approval;P;10;PARTIAL APPROVAL;num;yes;950;other
refer_to_issuer;issuer;declined;declined;R;01;CALL;null;yes;1100;other
refer_to_issuer_special;init conf;declined;declined;R;02;CALL;null;yes;1100;other
invalid_merchant;any;error;invalid_terminal;D;03;TERM ID ERROR;null;yes;300;fix
pick_up_card;issuer;declined;invalid_card;C;04;HOLD-CALL;null;yes;1000;no
do_not_honor;issuer;declined;declined;D;05;DECLINE;null;yes;1000;other
general_error;any;error;payment_failed;D;06;ERROR;null;yes;700;same
pick_up_fraud;issuer;declined;invalid_card;C;07;HOLD-CALL;null;yes;1000;no
invalid_transaction;any;declined;declined;D;12;INVALID TRANS;null;yes;500;fix
invalid_amount;any;declined;declined;D;13;AMOUNT ERROR;null;yes;500;fix
invalid_card_number;issuer;declined;invalid_card;D;14;CARD NO. ERROR;null;yes;600;other
no_such_issuer;issuer;declined;invalid_card;D;15;NO SUCH ISSUER;null;yes;600;other
re_enter;init conf;declined;declined;D;19;RE ENTER;null;yes;800;same
unable_to_back_out;rev;error;payment_failed;D;21;NO ACTION TAKEN;null;yes;800;recon
file_unavailable;any;error;payment_failed;D;28;NO REPLY;null;yes;1500;same
format_error;any;error;format_error;D;30;FORMAT ERROR;null;yes;400;fix
lost_card;issuer;declined;invalid_card;C;41;HOLD-CALL;null;yes;1000;no
stolen_card;issuer;declined;invalid_card;C;43;HOLD-CALL;null;yes;1000;no
insufficient_funds;issuer;declined;insufficient_funds;D;51;DECLINE;null;yes;1000;other
expired_card;issuer;declined;invalid_card;D;54;EXPIRED CARD;null;yes;900;other
incorrect_pin;init;declined;declined;D;55;WRONG PIN;null;yes;1000;same
not_permitted_card;issuer;declined;declined;D;57;SERV NOT ALLOWED;null;yes;900;other
not_permitted_terminal;any;error;invalid_terminal;D;58;SERV NOT ALLOWED;null;yes;500;fix
suspected_fraud;issuer;declined;declined;D;59;DECLINE;null;yes;1000;no
exceeds_withdrawal_limit;issuer;declined;declined;D;61;DECLINE;null;yes;1000;other
restricted_card;issuer;declined;invalid_card;D;62;DECLINE;null;yes;1000;other
security_violation;issuer;declined;declined;D;63;SEC VIOLATION;null;yes;1000;no
activity_limit_exceeded;issuer;declined;declined;D;65;DECLINE;null;yes;1000;other
pin_required;init;declined;declined;D;70;PIN REQUIRED;null;yes;900;same
pin_tries_exceeded;init;declined;declined;D;75;PIN EXCEEDED;null;yes;1000;other
no_matching_original;cap rev ref;error;payment_failed;D;76;UNSOLIC REVERSAL;null;yes;700;fix
inconsistent_data;cap rev ref;error;payment_failed;D;77;NO ACTION TAKEN;null;yes;700;fix
no_account;issuer;declined;invalid_card;D;78;NO ACCOUNT;null;yes;900;other
already_reversed;rev;error;payment_failed;D;79;ALREADY REVERSED;null;yes;700;no
crypto_error;init conf;error;payment_failed;D;81;ENCRYPTION ERROR;null;yes;600;same
issuer_unavailable;issuer inc;error;payment_failed;D;91;NO REPLY;null;yes;8000;same
invalid_routing;init conf;error;payment_failed;D;92;INVALID ROUTING;null;yes;700;fix
violation;issuer;declined;declined;D;93;DECLINE;null;yes;900;no
duplicate_event;any;error;duplicate_event;D;94;DUPLICATE TRANS;null;yes;500;recon
system_malfunction;any;error;payment_failed;D;96;SYSTEM ERROR;null;yes;1500;same
payment_failed;any;error;payment_failed;E;null;HOST FAILURE;null;yes;2000;recon
processor_timeout;any;error;processor_timeout;-;-;-;null;no;30000;recon
timed_out;any;error;timed_out;-;-;-;null;no;60000;recon
network_connectivity_error;any;error;network_connectivity_error;-;-;-;null;no;5000;same
invalid_gateway_response;any;error;invalid_gateway_response;-;-;-;null;no;1200;recon
invalid_terminal;any;error;invalid_terminal;D;03;TERM ID ERROR;null;no;200;fix
user_canceled;init conf;canceled;user_canceled;-;-;-;null;no;4000;same
merchant_canceled;init conf;canceled;merchant_canceled;-;-;-;null;no;2000;same
surcharge_prompt;init;surcharge_pending;approved;A;00;APPROVAL;num;yes;900;no
surcharge_declined_by_payer;init conf;canceled;surcharge_declined_by_payer;-;-;-;null;yes;3000;other
surcharge_expired;init conf;canceled;surcharge_expired;-;-;-;null;yes;0;same
incremental_auth_declined;inc;declined;incremental_auth_declined;D;05;DECLINE;null;yes;1000;other
incremental_insufficient_funds;inc;declined;incremental_auth_declined;D;51;DECLINE;null;yes;1000;other
exceeds_original_auth;cap adj;error;exceeds_original_auth;-;-;-;null;no;50;fix
invalid_capture_sequence;cap;error;invalid_capture_sequence;-;-;-;null;no;50;fix
invalid_tip_adjustment;adj;error;invalid_tip_adjustment;-;-;-;null;no;50;fix
pending_forever;init;pending;pending;E;null;PENDING;null;yes;500;recon
refund_declined;ref;declined;declined;D;05;DECLINE;null;yes;1000;other
capture_declined;cap;declined;declined;D;05;DECLINE;null;yes;900;fix
insert_card;init;declined;declined;D;null;INSERT CARD;null;yes;800;same
use_another_card;init;declined;declined;D;null;USE ANOTHER CARD;null;yes;800;other
contactless_limit_exceeded;init;declined;declined;D;65;CONTACTLESS LIMIT;null;yes;900;same
strong_authentication_required;init;declined;declined;D;1A;ADD AUTH REQUIRED;null;yes;900;same
timed_out_held;init;error;processor_timeout;-;-;-;null;no;30000;recon
surcharge_not_permitted;init cap;declined;declined;D;B1;SURCHARGE ERROR;null;yes;900;fix
"""


def _row(line: str) -> Row:
    key, scope, status, reason, resp, host, message, approval, gtid, ms, retry = line.split(";")
    words = tuple(scope.split())
    return Row(key, words, status, reason, resp, host, message, approval, gtid, int(ms), retry)


ROWS = {row.key: row for row in map(_row, _TABLE.strip().splitlines())}

WORD_OF = {
    "sale": "init",
    "auth": "init",
    "incremental_auth": "inc",
    "capture": "cap",
    "tip_adjust": "adj",
    "refund": "ref",
    "reverse": "rev",
    "confirm": "conf",
}
"""The word of the scope column for each operation (assumed 5.1)."""

RULE_FAILURES = ("exceeds_original_auth", "invalid_capture_sequence", "invalid_tip_adjustment")
PROMPTS = ("surcharge_prompt", "surcharge_declined_by_payer", "surcharge_expired")


def is_for(row: Row, operation: str) -> bool:
    """Whether the operation is in the scope of the outcome.

    Whatever declines an initiation declines an increment too (assumed 5.2-increment).
    """
    if operation == "incremental_auth":
        return bool({"any", "inc"} & set(row.scope)) or (
            row.status == "declined" and bool({"init", "issuer"} & set(row.scope))
        )
    return bool({"any", "issuer", WORD_OF[operation]} & set(row.scope))


def answered(value: str) -> str | None:
    """The value of a column on the wire."""
    return None if value in ("-", "null") else value


# --- what each amount of the nine-thousand blocks stands for, transcribed from assumed 6.2 -------

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
