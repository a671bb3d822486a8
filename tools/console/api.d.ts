// The rows of the control API for the console. `make golden` writes this file; `paths.d.ts` has
// the types that look a row up.

declare namespace Api {
  type AboveTheHold = "tip_and_surcharge" | "nothing" | "small_tip" | "tip_tax_and_surcharge";
  type Advance = {
    by?: string | null;
    to?: ("next" | string) | null;
    before?: boolean;
  };
  type Advanced = {
    now: string;
    fired: Array<FiredTimer>;
  };
  type Agenda = {
    now: string;
    agenda: Array<DueView>;
    by_kind: Record<string, number>;
    total: number;
    next: string | null;
  };
  type AllReadings = {
    readings: Array<ReadingView>;
  };
  type Answered = {
    request_id: string;
    status: number | null;
    headers: Record<string, string>;
    body: any;
    fault: string | null;
    duration_ms: number;
  };
  type ApplicationView = {
    id: string;
    account_id: string;
    created_at: string;
    endpoints: Array<string>;
  };
  type Applications = {
    applications: Array<ApplicationView>;
    total: number;
  };
  type AttemptView = {
    event_id: string;
    transaction_type: TransactionType;
    status: TransactionStatus;
    status_reason: StatusReason;
    amount: number;
    subtotal: number;
    tax_amount: number;
    tip_amount: number;
    surcharge_amount: number;
    total_amount: number;
    refunded: number;
    reversed: number;
    gateway_transaction_id: string | null;
    gateway_transaction_response: HostAnswerView | null;
    processor_response_code: string | null;
    processor_response_message: string | null;
    batch_id: string | null;
    created_at: number;
  };
  type Batch = {
    id: string;
    account_id: string;
    terminal_id: string;
    processor_name: string;
    processor_config_id: string | null;
    status: BatchStatus;
    captured_amount: number;
    refunded_amount: number;
    transaction_count: number;
    processor_batch_id: string | null;
    opened_at: string;
    closed_at: string | null;
    response: Record<string, any> | null;
    batch_metadata: Record<string, any>;
  };
  type BatchAnswer = {
    answer: BatchReply;
    reason?: string | null;
    rejected?: (number | Array<string>) | null;
  };
  type BatchDetail = {
    batch: BatchRow;
    why: string;
    is_due_at: string | null;
    sums: EntrySums;
    records: Array<BatchEntry>;
  };
  type BatchEntry = {
    transaction_id: string;
    record_id: string | null;
    event_id: string;
    kind: "capture" | "refund";
    amount: number;
    brand: string;
    last4: string;
    at: string;
    status: string;
    result: ("accepted" | "refused") | null;
    now_in: string | null;
  };
  type BatchOfPayment = {
    id: string;
    status: string;
    number: string | null;
  };
  type BatchReply = "accepted" | "rejected" | "partially_accepted";
  type BatchRow = {
    id: string;
    account_id: string;
    terminal_id: string;
    status: BatchStatus;
    captured_amount: number;
    refunded_amount: number;
    transaction_count: number;
    opened_at: string;
    closed_at: string | null;
    number: string | null;
    merchant: string | null;
    terminal: string | null;
    processor: string;
    currency: string;
    refused: number | null;
  };
  type BatchScheduleBody = {
    times: Array<string>;
    days?: Array<Weekday> | null;
    zone: string;
  };
  type BatchScheduleView = {
    times: Array<string>;
    days: Array<Weekday>;
    zone: string;
    terminal_id: string;
    next: string;
  };
  type BatchSchedules = {
    schedules: Array<BatchScheduleView>;
    total: number;
  };
  type BatchStatus = "open" | "submitted" | "rejected" | "accepted" | "partially_accepted";
  type BatchesPage = {
    batches: Array<BatchRow>;
    total: number;
    next: number | null;
  };
  type Begun = {
    request_id: string;
  };
  type BlockAnswer = "locked" | "forbidden" | "unauthorized" | "bad_request" | "invalid_terminal";
  type BlockStops = "payments" | "new_payments" | "changes";
  type ByItself = {
    trigger: string;
    row: string;
    next_status: string;
    due: string | null;
  };
  type Canceler = "user" | "merchant";
  type Capture = {
    program: string;
    capture: number;
    taken_at: string;
    server: CapturedServer;
    world: CapturedWorld;
    scenario: RunningScenario | null;
    switches: Record<string, any>;
    coverage: Coverage;
    totals: Totals;
    endpoints: Array<EndpointView>;
    taps: Array<TapView>;
    agenda: Array<DueView>;
    keys: Array<DirectoryEntry>;
    lens: CapturedLens;
    payments: Array<PaymentRow>;
    stories: Array<Story>;
    batches: Array<BatchDetail>;
    moves: Array<CapturedMoves>;
    messages: Array<MessageView>;
    message_rows: Array<MessageRow>;
    checks: Array<CapturedCheck>;
    requests: Array<JournalEntry>;
    request_rows: Array<RequestRow>;
  };
  type CapturedCheck = {
    step: VerifyStep | null;
    says: string;
    expected: Array<string>;
    sent: Array<string>;
    age_s: number | null;
    verdict: "genuine" | "refused";
    signed: string;
    secrets: Array<string>;
    message_id: string;
    endpoint_id: string;
  };
  type CapturedLens = {
    tables: Array<LensTable>;
    answers: Array<LensView>;
  };
  type CapturedMoves = {
    state: string;
    moves: Array<Move>;
    by_itself: Array<ByItself>;
    id: string;
    key: string | null;
  };
  type CapturedServer = {
    version: string;
    platform_url: string;
    api_key_header: string;
  };
  type CapturedWorld = {
    id: string;
    name: string;
    seed: number;
    fixture: string;
    scenario: string | null;
    readings: Record<string, string>;
    clock: ClockView;
    accounts: Record<string, string>;
    terminals: Record<string, string>;
    locations: Record<string, string>;
    keys: Record<string, KeyOfCapture>;
  };
  type CardView = {
    token: string;
    number: string;
    brand: string;
    type: string;
    outcome: OutcomeName;
    above_amount: number | null;
    later: Record<string, string>;
  };
  type Cards = {
    cards: Array<CardView>;
    total: number;
  };
  type CatalogueOutcome = {
    key: OutcomeName;
    status_reason: string;
    response_code: string | null;
    message: string | null;
    latency_ms: number;
    retry: string;
    cents: number;
    operations: Array<string>;
    status: string;
    processor_response_code: string | null;
  };
  type ChangeEndpoint = {
    url?: string | null;
    description?: string | null;
    account_id?: string | null;
    event_types?: Array<string> | null;
    filters?: Filters | null;
    secret?: string | null;
    disabled?: boolean | null;
  };
  type CheckBody = {
    toml?: string | null;
    json?: Record<string, any> | null;
  };
  type Clause = {
    id: string;
    title: string;
    summary: string;
    fills: Array<string>;
    code: Array<string>;
    rows: Array<string>;
    tests: Array<string> | null;
    parts: Array<string>;
    needs_no_proof: string | null;
    proved: boolean;
    verified: string | null;
  };
  type ClockBody = {
    now?: string | null;
    mode?: ClockMode | null;
    rate?: number | null;
  };
  type ClockMode = "running" | "frozen";
  type ClockView = {
    now: string;
    mode: ClockMode;
    rate: number;
  };
  type Counts = {
    accounts: number;
    terminals: number;
    locations: number;
    keys: number;
  };
  type Coverage = {
    operations: Section;
    answers: Section;
    statuses: Section;
    status_reasons: Section;
    events: Section;
    refusals: Section;
    scenarios: Section;
    outcomes: Section;
  };
  type CreateEndpoint = {
    url: string;
    description?: string | null;
    account_id?: string | null;
    event_types?: Array<string> | null;
    filters?: Filters | null;
    secret?: string | null;
    disabled?: boolean | null;
    id?: string | null;
  };
  type CreateWorld = {
    id?: string | null;
    name?: string | null;
    seed?: number | null;
    fixture?: string | null;
    clock?: string | ClockBody | null;
    switches?: Record<string, any> | null;
    readings?: Record<string, string> | null;
    scenario?: any;
    invent?: InventBody | null;
    endpoints?: Array<CreateEndpoint> | null;
  };
  type DecisionView = {
    step: string;
    verdict: string;
    reason: string;
    clause: string;
  };
  type DeclineStatus = "http_200" | "http_400" | "http_402" | "http_422";
  type DeliveryAttemptView = {
    at: string;
    status_code: number | null;
    duration_ms: number;
    response: string;
    error: string | null;
    trigger: DeliveryTrigger;
    sent: SentView | null;
  };
  type DeliveryMark = {
    endpoint_id: string;
    status: DeliveryStatus;
    attempts: number;
  };
  type DeliveryStatus = "pending" | "delivered" | "failed" | "dropped" | "canceled";
  type DeliveryTrigger = "scheduled" | "manual" | "scenario";
  type DeliveryView = {
    endpoint_id: string;
    status: DeliveryStatus;
    attempts: Array<DeliveryAttemptView>;
    next_attempt_at: string | null;
    rule: string | null;
  };
  type DifferenceKind = "missing_here" | "missing_there" | "other_amount" | "other_status";
  type DifferenceView = {
    line: number | null;
    transaction_id: string | null;
    event_id: string | null;
    kind: DifferenceKind;
    there: (number | string) | null;
    here: (number | string) | null;
  };
  type DirectoryEntry = {
    kind: RecordKind;
    id: string;
    name: string;
    cast: string | null;
    parent_id: string | null;
    status: string;
    counts: Counts | null;
    currency: string | null;
    grants: Array<string> | null;
    expires_at: string | null;
    last_used_at: string | null;
  };
  type DirectoryPage = {
    entries: Array<DirectoryEntry>;
    total: number;
    next: number | null;
  };
  type DueView = {
    id: string;
    due: string;
    kind: string;
    subject: Subject;
    says: string;
    then: NextState | null;
    clause: string;
  };
  type DuplicateEventId = "reject" | "replay" | "failed_attempt";
  type EndpointHealth = {
    id: string;
    url: string;
    description: string;
    disabled: boolean;
    failing_since: string | null;
    last: Array<DeliveryStatus>;
  };
  type EndpointView = {
    id: string;
    url: string;
    secret: string;
    created_at: string;
    description: string;
    account_id: string | null;
    event_types: Array<EventType>;
    filters: Record<string, Array<string>>;
    old_secrets: Array<OldSecretView>;
    disabled_reason: string | null;
    failing_since: string | null;
    application_id: string | null;
    disabled: boolean;
    disables_at: string | null;
  };
  type Endpoints = {
    endpoints: Array<EndpointView>;
    total: number;
  };
  type EntrySums = {
    captured_amount: number;
    refunded_amount: number;
    transaction_count: number;
    refused_amount: number;
  };
  type Error = {
    error: string;
    message: string;
    details: string;
    nearest?: string;
  };
  type EventType = "transaction.authorize" | "transaction.sale" | "transaction.capture" | "transaction.cancel" | "transaction.create" | "transaction.reverse" | "transaction.refund" | "transaction.increment" | "transaction.tip_adjust" | "batch.opened" | "batch.rejected" | "batch.accepted" | "batch.partially_accepted" | "batch.edited" | "batch.submitted" | "account.created" | "account.updated" | "account.blocked" | "account.unblocked" | "account.deleted" | "terminal.created" | "terminal.updated" | "terminal.blocked" | "terminal.unblocked" | "terminal.deleted" | "location.created" | "location.updated" | "location.blocked" | "location.unblocked" | "location.deleted" | "api_key.created" | "api_key.revoked" | "api_key.reinstated" | "api_key.deleted" | "credential.created" | "credential.blocked" | "credential.unblocked" | "credential.deleted";
  type ExportBody = {
    as: ExportFormat;
    requests?: Array<string> | null;
    subject?: string | null;
    since?: string | null;
  };
  type ExportFormat = "curl" | "har" | "markdown" | "pytest" | "scenario";
  type ExportedFile = {
    name: string;
    media_type: string;
    content: string;
    requests: number;
  };
  type FaultMoment = "before" | "after";
  type FaultView = {
    key: TransportFault;
    when: FaultMoment;
    effect: string;
    cents: number | null;
    status: number | null;
  };
  type FeedEvent = {
    id: string;
    event_type: string;
    marks: Array<DeliveryMark>;
  };
  type FeedRow = {
    id: string;
    at: string;
    method: string;
    path: string;
    route: string | null;
    key: string | null;
    key_id: string | null;
    key_name: string | null;
    account_id: string | null;
    subject: string | null;
    origin: "client" | "console";
    client: string | null;
    summary: string | null;
    status: number | null;
    outcome: string | null;
    decided_by: string | null;
    rule: string | null;
    why: string | null;
    clause: string | null;
    events: number;
    amount: number | null;
    payment: PaymentOfRow | null;
    duration_ms: number;
    sent: Array<FeedEvent>;
  };
  type Filters = {
    transaction_type?: Array<string> | null;
    status?: Array<string> | null;
    processor?: Array<string> | null;
  };
  type Findings = {
    found: Array<FoundThing>;
    more: boolean;
  };
  type FiredTimer = {
    at: string;
    kind: string;
    subject: string;
  };
  type Fixtures = {
    fixtures: Array<string>;
    total: number;
  };
  type ForkBody = {
    id?: string | null;
    name?: string | null;
  };
  type FoundThing = {
    world: string;
    kind: string;
    id: string;
    says: string;
    href: string | null;
  };
  type Health = {
    status: "ok";
    version: string;
    store: string;
    server?: string;
  };
  type HostAnswerView = {
    responseCode: string | null;
    responseMessage: string | null;
    approvalCode: string | null;
    processorResponseCode: string | null;
    authorizedAmount?: number;
    type?: TransactionType;
    status?: TransactionStatus;
    currency?: string;
  };
  type InventBody = {
    merchants: number;
    terminals_per_merchant?: number;
    locations_per_merchant?: number;
  };
  type JournalEntry = {
    id: string;
    at: string;
    method: string;
    path: string;
    query: string;
    route: string | null;
    key: string | null;
    key_id: string | null;
    key_name: string | null;
    account_id: string | null;
    subject: string | null;
    origin: "client" | "console";
    client: string | null;
    headers: Record<string, string>;
    status: number;
    duration_ms: number;
    request: any;
    response: any;
    decisions: Array<DecisionView>;
    outcome: OutcomeView | null;
    near_misses: Array<string>;
    events: Array<string>;
    notes: Array<string>;
    summary: string | null;
  };
  type KeyName = {
    id: string;
    name: string;
    cast: string | null;
  };
  type KeyOfCapture = {
    id: string;
  };
  type KeyOfCast = {
    id: string;
    key: string;
  };
  type LateAnswerBody = {
    outcome?: string;
    event_id?: string | null;
  };
  type Ledger = {
    clauses: Array<Clause>;
    total: number;
  };
  type LensBody = {
    key: string;
    operation: string;
    target?: string | null;
  };
  type LensRow = {
    operation: string;
    own: number;
    descendant: number;
    outside: number;
    why: string;
  };
  type LensTable = {
    key: KeyName;
    unusable: string | null;
    rows: Array<LensRow>;
  };
  type LensView = {
    status: number;
    decisions: Array<DecisionView>;
    missing: Array<string>;
    error: string | null;
    operation: string;
    key: KeyName;
    target: string | null;
    allowed: boolean;
    could: Array<KeyName>;
  };
  type LimitAboveMaximum = "refused" | "clamped" | "unprocessable";
  type MachineRow = {
    state: string;
    trigger: string;
    event: string | null;
    id: string | null;
    when: string;
    to: string;
    error: string | null;
    clause: string;
  };
  type MachineView = {
    name: string;
    states: Array<string>;
    rows: Array<MachineRow>;
  };
  type Machines = {
    machines: Array<MachineView>;
    total: number;
  };
  type Maintenance = {
    until: string | null;
  };
  type MaintenanceBody = {
    lasts: string;
  };
  type MarkBody = {
    name?: string;
  };
  type MarkView = {
    id: string;
    name: string;
    now: string;
    bytes: number;
  };
  type MarksOfWorld = {
    marks: Array<MarkView>;
    total: number;
  };
  type MessageRow = {
    id: string;
    event_type: EventType;
    account_id: string;
    subject: string;
    request_id: string | null;
    created_at: string;
    status: string | null;
    merchant: string | null;
    deliveries: Array<DeliveryMark>;
  };
  type MessageView = {
    id: string;
    event_type: EventType;
    account_id: string;
    subject: string;
    request_id: string | null;
    created_at: string;
    body: Record<string, any>;
    deliveries: Array<DeliveryView>;
  };
  type Messages = {
    messages: Array<MessageView | MessageRow>;
    total: number;
    limit: number;
    offset: number;
    next: string | null;
  };
  type Money = {
    authorized: number;
    captured: number;
    released: number;
    reversed_before: number;
    reversed_after: number;
    refunded: number;
    refundable: number;
    remaining: number;
  };
  type Move = {
    operation: string;
    possible: boolean;
    next_status: string | null;
    row: string | null;
    says: string;
    error: string | null;
    status: number;
    amount: number | null;
    min: number | null;
    max: number | null;
    path: string;
    example: Record<string, any>;
    clause: string;
  };
  type Moves = {
    state: string;
    moves: Array<Move>;
    by_itself: Array<ByItself>;
  };
  type NearMiss = {
    id: string;
    event_type: EventType;
    subject: string;
    why: string;
  };
  type Need = {
    kind: NeedKind;
    id: string;
    says: string;
    since: string | null;
    amount: number | null;
    currency: string | null;
  };
  type NeedKind = "tap" | "surcharge" | "endpoint" | "batch" | "key";
  type NewReceiver = {
    answers?: Array<number>;
    delay_ms?: number;
    description?: string | null;
    event_types?: Array<string>;
  };
  type NewToken = {
    id: string;
    team: string;
    name: string;
    created_at: string;
    expires_at: string | null;
    expired: boolean;
    token: string;
  };
  type NewWebhookFault = {
    then: Record<string, any>;
    when?: Record<string, any>;
    times?: number;
  };
  type NextOutcome = {
    outcome?: string | null;
    operation?: string | null;
    method?: string | null;
    path?: string | null;
    amount?: number | null;
    delay_ms?: number;
    fault?: string | null;
    approved_amount?: number | null;
  };
  type NextState = {
    status: string;
    status_reason: string | null;
  };
  type NothingCame = {
    error: string;
    message: string;
    details: string;
    near_misses: Array<NearMiss>;
    nearest?: string;
  };
  type OldSecretView = {
    secret: string;
    until: string;
  };
  type Operation = "sale" | "auth" | "capture" | "incremental_auth" | "tip_adjust" | "refund" | "reverse" | "confirm";
  type OperationName = "accounts.list" | "accounts.read" | "accounts.update" | "accounts.delete" | "accounts.create" | "accounts.block" | "accounts.unblock" | "accounts.list_v2" | "accounts.read_v2" | "accounts.update_v2" | "accounts.delete_v2" | "accounts.create_v2" | "credentials.create" | "credentials.list" | "credentials.read" | "credentials.update" | "credentials.delete" | "credentials.block" | "credentials.unblock" | "terminals.create" | "terminals.list" | "terminals.read" | "terminals.update" | "terminals.delete" | "terminals.block" | "terminals.unblock" | "locations.create" | "locations.list" | "locations.read" | "locations.update" | "locations.delete" | "locations.block" | "locations.unblock" | "sale" | "auth" | "payments.create" | "payments.preauth" | "capture" | "payments.capture" | "payments.capture_v1" | "incremental_auth" | "payments.increment" | "payments.increment_v1" | "reverse" | "payments.reverse" | "payments.reverse_v1" | "tip_adjust" | "payments.adjust" | "payments.adjust_v1" | "refund" | "payments.refund" | "payments.refund_v1" | "confirm" | "payments.confirm" | "payments.confirm_v1" | "refunds.create" | "transactions.search" | "transactions.list" | "transactions.read" | "transactions.history" | "transactions.edit" | "batches.list" | "batches.read" | "batches.open" | "batches.edit" | "close_batch" | "batches.close" | "apikeys.create" | "apikeys.list" | "apikeys.read" | "apikeys.update" | "apikeys.delete";
  type OutcomeName = "approved" | "approved_with_id" | "no_reason_to_decline" | "partial_approval" | "refer_to_issuer" | "refer_to_issuer_special" | "invalid_merchant" | "pick_up_card" | "do_not_honor" | "general_error" | "pick_up_fraud" | "invalid_transaction" | "invalid_amount" | "invalid_card_number" | "no_such_issuer" | "re_enter" | "unable_to_back_out" | "file_unavailable" | "format_error" | "lost_card" | "stolen_card" | "insufficient_funds" | "expired_card" | "incorrect_pin" | "not_permitted_card" | "not_permitted_terminal" | "suspected_fraud" | "exceeds_withdrawal_limit" | "restricted_card" | "security_violation" | "activity_limit_exceeded" | "pin_required" | "pin_tries_exceeded" | "no_matching_original" | "inconsistent_data" | "no_account" | "already_reversed" | "crypto_error" | "issuer_unavailable" | "invalid_routing" | "violation" | "duplicate_event" | "system_malfunction" | "payment_failed" | "processor_timeout" | "timed_out" | "network_connectivity_error" | "invalid_gateway_response" | "invalid_terminal" | "user_canceled" | "merchant_canceled" | "surcharge_prompt" | "surcharge_declined_by_payer" | "surcharge_expired" | "incremental_auth_declined" | "incremental_insufficient_funds" | "exceeds_original_auth" | "invalid_capture_sequence" | "invalid_tip_adjustment" | "pending_forever" | "refund_declined" | "capture_declined" | "insert_card" | "use_another_card" | "contactless_limit_exceeded" | "strong_authentication_required" | "timed_out_held" | "surcharge_not_permitted";
  type OutcomeView = {
    key: string;
    source: string;
    rule: string;
  };
  type Outcomes = {
    outcomes: Array<CatalogueOutcome>;
    total: number;
    faults: Array<FaultView>;
  };
  type OverviewView = {
    now: string;
    scenario: RunningScenario | null;
    needs: Array<Need>;
    due: Array<DueView>;
    due_total: number;
    endpoints: Array<EndpointHealth>;
    statuses: Record<string, number>;
    waiting: Array<RequestRow>;
    feed: Array<FeedRow>;
    requests_total: number;
  };
  type PaymentOfRow = {
    id: string;
    status: string;
    total: number;
    currency: string;
    merchant: string | null;
    brand: string | null;
    last4: string | null;
  };
  type PaymentOrder = "newest" | "oldest" | "largest" | "smallest";
  type PaymentRow = {
    id: string;
    created_at: string;
    updated_at: string;
    type: string;
    status: string;
    status_reason: string;
    currency: string;
    total: number;
    tip: number;
    refunded: number;
    reversed: number;
    brand: string;
    last4: string;
    account_id: string;
    merchant: string | null;
    terminal_id: string;
    batch_id: string | null;
  };
  type PaymentsPage = {
    payments: Array<PaymentRow | TransactionView>;
    total: number;
    next: number | null;
  };
  type Play = {
    name: string;
    ok: boolean;
    steps: Array<PlayedExample>;
    total: number;
    now: string;
  };
  type PlayBody = {
    example: number | string;
    from?: (number | string) | null;
  };
  type PlayedExample = {
    number: number;
    name: string;
    operation: string;
    mistakes: Array<string>;
    requests: Array<PlayedRequest>;
    messages: Array<PlayedMessage>;
    subject: string | null;
    status: string | null;
    status_reason: string | null;
  };
  type PlayedMessage = {
    id: string;
    event_type: string;
  };
  type PlayedRequest = {
    request_id: string | null;
    method: string;
    path: string;
    query: string;
    body: any;
    status: number | null;
    answer: any;
  };
  type ProblemView = {
    rule: string | null;
    field: string | null;
    line: number | null;
    message: string;
    nearest: string | null;
  };
  type Problems = {
    problems: Array<ProblemView>;
    total: number;
  };
  type Proof = {
    name: string;
    ok: boolean;
    examples: Array<ProvedExample>;
    total: number;
  };
  type ProveBody = {
    toml?: string | null;
  };
  type ProvedExample = {
    number: number;
    name: string;
    line: number | null;
    mistakes: Array<string>;
  };
  type Queue = {
    queue: Array<QueuedView>;
    total: number;
  };
  type QueuedView = {
    outcome: OutcomeName | null;
    operation: OperationName | null;
    method: string | null;
    path: string | null;
    amount: number | null;
    delay_ms: number;
    fault: TransportFault | null;
    approved_amount: number | null;
    id: string;
  };
  type RateBasis = "subtotal" | "subtotal_plus_tax" | "subtotal_plus_tip" | "total";
  type ReadingValueView = {
    name: string;
    meaning: string;
  };
  type ReadingView = {
    id: string;
    sentence: string;
    values: Array<ReadingValueView>;
    clause: string;
    default: string;
  };
  type Readings = {
    status_after_partial_refund?: "unchanged" | "refunded" | null;
    duplicate_event_id?: "reject" | "replay" | "failed_attempt" | null;
    rule_failures?: "http_400" | "http_200" | null;
    missing_headers?: "served" | "refused" | null;
    stored_transaction_type?: "last" | "first" | null;
    refund_before_settlement?: "allowed" | "refused" | null;
    total_of_partial_approval?: "requested" | "approved" | null;
    lost_cards?: "invalid_card" | "declined" | null;
    edit_of_closed_batch?: "rejected_too" | "open_only" | null;
    receipt_data?: "none" | "emv" | null;
    response_fields?: "codes" | "amounts" | null;
    status_of_partial_reverse?: "unchanged" | "reversed" | null;
    tip_on_a_hold?: "refused" | "allowed" | null;
    above_the_hold?: "tip_and_surcharge" | "nothing" | "small_tip" | "tip_tax_and_surcharge" | null;
    refused_attempts?: "named_rules" | "all" | null;
    rates_below_one?: "percent" | "fraction" | null;
    payments_of_a_terminal?: "empty" | "latest" | null;
    reversal_of_a_timeout?: "refused" | "allowed" | null;
    decline_status?: "http_200" | "http_400" | "http_402" | "http_422" | null;
    increment_amount?: "addition" | "new_total" | null;
    capture_amount?: "with_tip" | "without_tip" | null;
    record_of_an_action?: "payment" | "own" | null;
    limit_above_maximum?: "refused" | "clamped" | "unprocessable" | null;
    unset_strings?: "as_null" | "as_empty" | null;
    validation_status?: "bad_request" | "unprocessable" | null;
    validation_detail?: "text" | "objects" | null;
    foreign_account_filter?: "hidden" | "ignored" | null;
    unknown_routes?: "path" | "key" | null;
    expiry_without_offset?: "refused" | "utc" | null;
    unknown_key_fields?: "refused" | "ignored" | null;
    key_deletes_itself?: "allowed" | "refused" | null;
    all_granted_by?: "every_holder" | "psp" | null;
    key_after_a_change?: "shown" | "hidden" | null;
    delete_answers?: "empty" | "resource" | null;
    deleted_resources?: "hidden" | "shown" | null;
    application_in_answer?: "left_out" | "named" | null;
    past_expiry?: "refused" | "expires_at_once" | null;
    terminal_creators?: "every_account" | "partner_and_above" | null;
    admin_sees?: "own_tree" | "all" | null;
    block_answer?: "locked" | "forbidden" | "unauthorized" | "bad_request" | "invalid_terminal" | null;
    block_stops?: "payments" | "new_payments" | "changes" | null;
    block_reaches?: "descendants" | "itself" | null;
  };
  type ReadingsReadAnswer = {
    status_after_partial_refund: "unchanged" | "refunded";
    duplicate_event_id: DuplicateEventId;
    rule_failures: "http_400" | "http_200";
    missing_headers: "served" | "refused";
    stored_transaction_type: "last" | "first";
    refund_before_settlement: "allowed" | "refused";
    total_of_partial_approval: "requested" | "approved";
    lost_cards: "invalid_card" | "declined";
    edit_of_closed_batch: "rejected_too" | "open_only";
    receipt_data: "none" | "emv";
    response_fields: "codes" | "amounts";
    status_of_partial_reverse: "unchanged" | "reversed";
    tip_on_a_hold: "refused" | "allowed";
    above_the_hold: AboveTheHold;
    refused_attempts: "named_rules" | "all";
    rates_below_one: "percent" | "fraction";
    payments_of_a_terminal: "empty" | "latest";
    reversal_of_a_timeout: "refused" | "allowed";
    decline_status: DeclineStatus;
    increment_amount: "addition" | "new_total";
    capture_amount: "with_tip" | "without_tip";
    record_of_an_action: "payment" | "own";
    limit_above_maximum: LimitAboveMaximum;
    unset_strings: "as_null" | "as_empty";
    validation_status: "bad_request" | "unprocessable";
    validation_detail: "text" | "objects";
    foreign_account_filter: "hidden" | "ignored";
    unknown_routes: "path" | "key";
    expiry_without_offset: "refused" | "utc";
    unknown_key_fields: "refused" | "ignored";
    key_deletes_itself: "allowed" | "refused";
    all_granted_by: "every_holder" | "psp";
    key_after_a_change: "shown" | "hidden";
    delete_answers: "empty" | "resource";
    deleted_resources: "hidden" | "shown";
    application_in_answer: "left_out" | "named";
    past_expiry: "refused" | "expires_at_once";
    terminal_creators: "every_account" | "partner_and_above";
    admin_sees: "own_tree" | "all";
    block_answer: BlockAnswer;
    block_stops: BlockStops;
    block_reaches: "descendants" | "itself";
  };
  type ReadingsSetAnswer = {
    status_after_partial_refund: "unchanged" | "refunded";
    duplicate_event_id: DuplicateEventId;
    rule_failures: "http_400" | "http_200";
    missing_headers: "served" | "refused";
    stored_transaction_type: "last" | "first";
    refund_before_settlement: "allowed" | "refused";
    total_of_partial_approval: "requested" | "approved";
    lost_cards: "invalid_card" | "declined";
    edit_of_closed_batch: "rejected_too" | "open_only";
    receipt_data: "none" | "emv";
    response_fields: "codes" | "amounts";
    status_of_partial_reverse: "unchanged" | "reversed";
    tip_on_a_hold: "refused" | "allowed";
    above_the_hold: AboveTheHold;
    refused_attempts: "named_rules" | "all";
    rates_below_one: "percent" | "fraction";
    payments_of_a_terminal: "empty" | "latest";
    reversal_of_a_timeout: "refused" | "allowed";
    decline_status: DeclineStatus;
    increment_amount: "addition" | "new_total";
    capture_amount: "with_tip" | "without_tip";
    record_of_an_action: "payment" | "own";
    limit_above_maximum: LimitAboveMaximum;
    unset_strings: "as_null" | "as_empty";
    validation_status: "bad_request" | "unprocessable";
    validation_detail: "text" | "objects";
    foreign_account_filter: "hidden" | "ignored";
    unknown_routes: "path" | "key";
    expiry_without_offset: "refused" | "utc";
    unknown_key_fields: "refused" | "ignored";
    key_deletes_itself: "allowed" | "refused";
    all_granted_by: "every_holder" | "psp";
    key_after_a_change: "shown" | "hidden";
    delete_answers: "empty" | "resource";
    deleted_resources: "hidden" | "shown";
    application_in_answer: "left_out" | "named";
    past_expiry: "refused" | "expires_at_once";
    terminal_creators: "every_account" | "partner_and_above";
    admin_sees: "own_tree" | "all";
    block_answer: BlockAnswer;
    block_stops: BlockStops;
    block_reaches: "descendants" | "itself";
  };
  type ReceivedPage = {
    received: Array<ReceivedView>;
    total: number;
    limit: number;
    offset: number;
  };
  type ReceivedView = {
    at: string;
    message_id: string;
    attempt: number;
    headers: Record<string, string>;
    body: any;
    answer: number | null;
    event_type: string | null;
    genuine: boolean;
    says: string;
  };
  type ReceiverView = {
    id: string;
    answers: Array<number>;
    delay_ms: number;
    received: number;
    secret: string;
    endpoint: EndpointView;
  };
  type Receivers = {
    receivers: Array<ReceiverView>;
    total: number;
  };
  type ReconciliationBody = {
    text: string;
    account?: string | null;
    batch?: string | null;
    status?: string | null;
  };
  type ReconciliationView = {
    rows: number;
    matched: number;
    counts: Record<string, number>;
    ignored_columns: Array<string>;
    differences: Array<DifferenceView>;
  };
  type RecordKind = "account" | "terminal" | "location" | "key";
  type Recover = {
    since: string;
  };
  type Recovered = {
    messages: number;
  };
  type RenameBody = {
    name: string;
  };
  type ReplayBody = {
    key?: string | null;
    headers?: Record<string, any>;
    body?: any;
    wait?: boolean;
  };
  type RequestMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS";
  type RequestRow = {
    id: string;
    at: string;
    method: string;
    path: string;
    route: string | null;
    key: string | null;
    key_id: string | null;
    key_name: string | null;
    account_id: string | null;
    subject: string | null;
    origin: "client" | "console";
    client: string | null;
    summary: string | null;
    status: number | null;
    outcome: string | null;
    decided_by: string | null;
    rule: string | null;
    why: string | null;
    clause: string | null;
    events: number;
    amount: number | null;
    payment: PaymentOfRow | null;
    duration_ms: number;
  };
  type Requests = {
    requests: Array<JournalEntry | RequestRow>;
    total: number;
    limit: number;
    offset: number;
    next: string | null;
  };
  type Resend = {
    endpoint_id?: string | null;
  };
  type Resent = {
    endpoints: Array<string>;
  };
  type Rotate = {
    secret?: string | null;
    grace_s?: number | null;
  };
  type RuleInUse = {
    name: string;
    fitted: number;
    applied: number;
    is_used_up: boolean;
    last_request_id: string | null;
  };
  type RunningScenario = {
    name: string;
    about: string;
    since: string | null;
    toml: string;
    rules: Array<RuleInUse>;
    webhooks: Array<RuleInUse>;
    examples: Array<string>;
  };
  type Sample = {
    event_type: string;
    changes?: Record<string, any>;
  };
  type ScenarioBody = Record<string, any>;
  type ScenarioFile = {
    name: string;
    title: string;
    about: string;
    toml: string;
    json: Record<string, any>;
    examples: Array<string>;
  };
  type ScenarioOfLibrary = {
    name: string;
    title: string;
    about: string;
  };
  type Scenarios = {
    scenarios: Array<ScenarioOfLibrary>;
    total: number;
  };
  type Section = {
    exercised: Record<string, number>;
    never: Array<string>;
  };
  type SendBody = {
    key?: string | null;
    headers?: Record<string, any>;
    body?: any;
    wait?: boolean;
    method: RequestMethod;
    path: string;
    query?: string;
  };
  type SentView = {
    timestamp: number;
    signature: string | null;
    sha256: string;
    spoilt: Array<string>;
    id: string;
    bytes: number;
  };
  type ServerView = {
    name: string;
    url: string;
    state: string;
    version: string;
    started_at: string;
    worlds: number;
  };
  type Servers = {
    servers: Array<ServerView>;
    total: number;
  };
  type SessionBody = {
    token: string;
  };
  type SessionView = {
    needs_token: boolean;
    signed_in: boolean;
    team: string | null;
    version: string;
    platform_url: string;
    api_key_header: string;
  };
  type StatusClass = "2xx" | "4xx" | "5xx" | "none";
  type StatusReason = "approved" | "declined" | "insufficient_funds" | "invalid_card" | "payment_failed" | "processor_timeout" | "timed_out" | "network_connectivity_error" | "invalid_gateway_response" | "format_error" | "invalid_terminal" | "partial_approval" | "incremental_auth_declined" | "invalid_tip_adjustment" | "exceeds_original_auth" | "invalid_capture_sequence" | "surcharge_declined_by_payer" | "surcharge_expired" | "user_canceled" | "merchant_canceled" | "duplicate_event" | "pending";
  type Story = {
    payment: TransactionView;
    ledger: Money;
    outcome: OutcomeView | null;
    batch: BatchOfPayment | null;
    unanswered: Array<UnansweredAttempt>;
    story: Array<StoryStep>;
  };
  type StoryKind = "attempt" | "request" | "message" | "due";
  type StoryStep = {
    at: string;
    kind: StoryKind;
    id: string;
    amount: number | null;
    says: string;
  };
  type Subject = {
    kind: SubjectKind;
    id: string;
    says: string;
    amount: number | null;
    currency: string | null;
  };
  type SubjectKind = "payment" | "batch" | "key" | "terminal" | "delivery";
  type Switches = {
    strict_headers?: false | true;
    "refund.partial_status"?: "unchanged" | "refunded";
    "idempotency.duplicate"?: DuplicateEventId;
    "lifecycle.rule_failures"?: "http_400" | "http_200";
    "triggers.enabled"?: true | false;
    "latency.scale"?: number;
    "webhooks.time_scale"?: number;
    "webhooks.timestamp"?: "wall" | "world";
    "batch.settlement"?: "auto" | "manual";
    "quota.per_second"?: number;
    "quota.per_minute"?: number;
  };
  type SwitchesReadAnswer = {
    strict_headers: false | true;
    "refund.partial_status": "unchanged" | "refunded";
    "idempotency.duplicate": DuplicateEventId;
    "lifecycle.rule_failures": "http_400" | "http_200";
    "triggers.enabled": true | false;
    "latency.scale": number;
    "webhooks.time_scale": number;
    "webhooks.timestamp": "wall" | "world";
    "batch.settlement": "auto" | "manual";
    "quota.per_second": number;
    "quota.per_minute": number;
  };
  type SwitchesSetAnswer = {
    strict_headers: false | true;
    "refund.partial_status": "unchanged" | "refunded";
    "idempotency.duplicate": DuplicateEventId;
    "lifecycle.rule_failures": "http_400" | "http_200";
    "triggers.enabled": true | false;
    "latency.scale": number;
    "webhooks.time_scale": number;
    "webhooks.timestamp": "wall" | "world";
    "batch.settlement": "auto" | "manual";
    "quota.per_second": number;
    "quota.per_minute": number;
  };
  type TapBody = {
    card?: string | null;
    outcome?: string | null;
    cancel?: Canceler | null;
  };
  type TapView = {
    transaction_id: string;
    operation: Operation;
    amount: number;
    currency: string;
    terminal_id: string;
    since: string;
    until: string;
  };
  type TappedView = {
    transaction_id: string;
    operation: Operation;
    amount: number;
    currency: string;
    terminal_id: string;
    since: string;
    until: string;
    status: string | null;
    status_reason: string | null;
  };
  type Taps = {
    taps: Array<TapView>;
    total: number;
  };
  type TipCaptureMode = "sale" | "capture" | "adjust";
  type TipType = "fixed" | "percentage";
  type TokenBody = {
    team: string;
    name?: string;
    expires_at?: string | null;
    expires_in?: string | null;
  };
  type TokenView = {
    id: string;
    team: string;
    name: string;
    created_at: string;
    expires_at: string | null;
    expired: boolean;
  };
  type TokensOfTeams = {
    tokens: Array<TokenView>;
    total: number;
  };
  type Totals = {
    payments: number;
    messages: number;
    agenda: number;
  };
  type TransactionStatus = "pending" | "surcharge_pending" | "authorized" | "captured" | "settled" | "refunded" | "reversed" | "declined" | "error" | "canceled";
  type TransactionType = "sale" | "auth" | "capture" | "refund" | "reverse" | "tip_adjust" | "incremental_auth";
  type TransactionView = {
    transaction_id: string;
    event_id: string;
    mid: string;
    tid: string;
    processor_mid: string | null;
    processor_tid: string | null;
    account_id: string;
    device_id: string;
    location_id: string | null;
    processor: string;
    gateway: string;
    currency: string;
    gateway_transaction_id: string | null;
    subtotal: number;
    tip_amount: number;
    tax_amount: number;
    total_amount: number;
    surcharge_amount: number;
    refunded: number;
    reversed: number;
    tip_type: TipType;
    tip_capture_mode: TipCaptureMode | null;
    tax_rate: number;
    surcharge_rate: number;
    tax_source: string | null;
    tax_basis: RateBasis | null;
    surcharge_source: string | null;
    surcharge_basis: RateBasis | null;
    surcharge_applied: boolean;
    surcharge_confirmation_required: boolean | null;
    created_at: number;
    status: TransactionStatus;
    status_reason: StatusReason;
    payment_method: string | null;
    card_type: string | null;
    card_brand: string | null;
    card: string | null;
    additional_details: Record<string, any>;
    gateway_transaction_response: HostAnswerView | null;
    processor_response_code: string | null;
    processor_response_message: string | null;
    transaction_type: TransactionType;
    apple_transaction_id: string;
    reader_identifier: string;
    owner_id: string;
    parent_account_ids: Array<string>;
    merchant_name: string | null;
    psp: Record<string, any>;
    batch_id: string | null;
    device_type: Record<string, any>;
    terminal_details: Record<string, any>;
    history: Array<AttemptView>;
  };
  type TransportFault = "http_500" | "http_502" | "http_503" | "http_504" | "http_429" | "drop_before" | "drop_after" | "http_504_after" | "slow" | "malformed_json" | "half_answer";
  type TriggerView = {
    amount: number;
    kind: string;
    key: string;
    about: string;
    operation: string | null;
  };
  type Triggers = {
    triggers: Array<TriggerView>;
    total: number;
  };
  type UnansweredAttempt = {
    event_id: string;
    operation: Operation;
    amount: number;
  };
  type VerifyBody = {
    headers: Record<string, any>;
    body: string;
    secret?: string | null;
    endpoint_id?: string | null;
  };
  type VerifyStep = "headers" | "timestamp" | "signature";
  type VerifyView = {
    step: VerifyStep | null;
    says: string;
    expected: Array<string>;
    sent: Array<string>;
    age_s: number | null;
    verdict: "genuine" | "refused";
    signed: string;
    secrets: Array<string>;
  };
  type WebhookFaultQueue = {
    queue: Array<WebhookFaultView>;
    total: number;
  };
  type WebhookFaultView = {
    id: string;
    when: Record<string, any>;
    then: Record<string, any>;
    left: number;
  };
  type Weekday = "MON" | "TUE" | "WED" | "THU" | "FRI" | "SAT" | "SUN";
  type WorldRow = {
    id: string;
    name: string;
    clock: ClockView;
    scenario: string | null;
    payments: number;
    requests: number;
    refused: number;
    server: string | null;
  };
  type WorldView = {
    id: string;
    name: string;
    seed: number;
    fixture: string;
    scenario: string | null;
    readings: Record<string, string>;
    clock: ClockView;
    accounts: Record<string, string>;
    terminals: Record<string, string>;
    locations: Record<string, string>;
    keys: Record<string, KeyOfCast>;
  };
  type Worlds = {
    worlds: Array<WorldView | WorldRow>;
    total: number;
  };

  interface Rows {
    "health": {
      method: "GET";
      path: ["health"];
      body: undefined;
      answer: Health;
    };
    "servers.list": {
      method: "GET";
      path: ["servers"];
      body: undefined;
      answer: Servers;
    };
    "metrics": {
      method: "GET";
      path: ["metrics"];
      body: undefined;
      answer: string;
    };
    "session.read": {
      method: "GET";
      path: ["session"];
      body: undefined;
      answer: SessionView;
    };
    "session.begin": {
      method: "POST";
      path: ["session"];
      body: SessionBody;
      answer: SessionView;
    };
    "session.end": {
      method: "DELETE";
      path: ["session"];
      body: undefined;
      answer: null;
    };
    "tokens.create": {
      method: "POST";
      path: ["tokens"];
      body: TokenBody;
      answer: NewToken;
    };
    "tokens.list": {
      method: "GET";
      path: ["tokens"];
      body: undefined;
      answer: TokensOfTeams;
    };
    "tokens.delete": {
      method: "DELETE";
      path: ["tokens", string];
      body: undefined;
      answer: null;
    };
    "worlds.create": {
      method: "POST";
      path: ["worlds"];
      body: CreateWorld | undefined;
      answer: WorldView;
    };
    "worlds.list": {
      method: "GET";
      path: ["worlds"];
      body: undefined;
      answer: Worlds;
    };
    "worlds.read": {
      method: "GET";
      path: ["worlds", string];
      body: undefined;
      answer: WorldView;
    };
    "worlds.delete": {
      method: "DELETE";
      path: ["worlds", string];
      body: undefined;
      answer: null;
    };
    "worlds.change": {
      method: "PATCH";
      path: ["worlds", string];
      body: RenameBody;
      answer: WorldView;
    };
    "worlds.reset": {
      method: "POST";
      path: ["worlds", string, "reset"];
      body: undefined;
      answer: WorldView;
    };
    "fixtures.list": {
      method: "GET";
      path: ["fixtures"];
      body: undefined;
      answer: Fixtures;
    };
    "snapshot.read": {
      method: "GET";
      path: ["worlds", string, "snapshot"];
      body: undefined;
      answer: Record<string, any>;
    };
    "snapshot.restore": {
      method: "PUT";
      path: ["worlds", string, "snapshot"];
      body: Record<string, any>;
      answer: WorldView;
    };
    "worlds.fork": {
      method: "POST";
      path: ["worlds", string, "fork"];
      body: ForkBody | undefined;
      answer: WorldView;
    };
    "marks.add": {
      method: "POST";
      path: ["worlds", string, "marks"];
      body: MarkBody | undefined;
      answer: MarkView;
    };
    "marks.list": {
      method: "GET";
      path: ["worlds", string, "marks"];
      body: undefined;
      answer: MarksOfWorld;
    };
    "marks.return": {
      method: "POST";
      path: ["worlds", string, "marks", string, "return"];
      body: undefined;
      answer: WorldView;
    };
    "marks.delete": {
      method: "DELETE";
      path: ["worlds", string, "marks", string];
      body: undefined;
      answer: null;
    };
    "clock.read": {
      method: "GET";
      path: ["worlds", string, "clock"];
      body: undefined;
      answer: ClockView;
    };
    "clock.set": {
      method: "PUT";
      path: ["worlds", string, "clock"];
      body: ClockBody | undefined;
      answer: ClockView;
    };
    "clock.advance": {
      method: "POST";
      path: ["worlds", string, "clock", "advance"];
      body: Advance | undefined;
      answer: Advanced;
    };
    "agenda.read": {
      method: "GET";
      path: ["worlds", string, "agenda"];
      body: undefined;
      answer: Agenda;
    };
    "maintenance.read": {
      method: "GET";
      path: ["worlds", string, "maintenance"];
      body: undefined;
      answer: Maintenance;
    };
    "maintenance.begin": {
      method: "PUT";
      path: ["worlds", string, "maintenance"];
      body: MaintenanceBody;
      answer: Maintenance;
    };
    "maintenance.end": {
      method: "DELETE";
      path: ["worlds", string, "maintenance"];
      body: undefined;
      answer: null;
    };
    "switches.read": {
      method: "GET";
      path: ["worlds", string, "switches"];
      body: undefined;
      answer: SwitchesReadAnswer;
    };
    "switches.set": {
      method: "PUT";
      path: ["worlds", string, "switches"];
      body: Switches | undefined;
      answer: SwitchesSetAnswer;
    };
    "readings.list": {
      method: "GET";
      path: ["readings"];
      body: undefined;
      answer: AllReadings;
    };
    "readings.read": {
      method: "GET";
      path: ["worlds", string, "readings"];
      body: undefined;
      answer: ReadingsReadAnswer;
    };
    "readings.set": {
      method: "PUT";
      path: ["worlds", string, "readings"];
      body: Readings | undefined;
      answer: ReadingsSetAnswer;
    };
    "overview": {
      method: "GET";
      path: ["worlds", string, "overview"];
      body: undefined;
      answer: OverviewView;
    };
    "payments.search": {
      method: "GET";
      path: ["worlds", string, "payments"];
      body: undefined;
      answer: PaymentsPage;
    };
    "payments.story": {
      method: "GET";
      path: ["worlds", string, "payments", string];
      body: undefined;
      answer: Story;
    };
    "payments.answer": {
      method: "POST";
      path: ["worlds", string, "payments", string, "answer"];
      body: LateAnswerBody | undefined;
      answer: Story;
    };
    "lens.simulate": {
      method: "POST";
      path: ["worlds", string, "lens"];
      body: LensBody;
      answer: LensView;
    };
    "lens.table": {
      method: "GET";
      path: ["worlds", string, "lens", string];
      body: undefined;
      answer: LensTable;
    };
    "payments.moves": {
      method: "GET";
      path: ["worlds", string, "payments", string, "moves"];
      body: undefined;
      answer: Moves;
    };
    "batches.search": {
      method: "GET";
      path: ["worlds", string, "batches"];
      body: undefined;
      answer: BatchesPage;
    };
    "batches.look": {
      method: "GET";
      path: ["worlds", string, "batches", string];
      body: undefined;
      answer: BatchDetail;
    };
    "batches.answer": {
      method: "POST";
      path: ["worlds", string, "batches", string, "answer"];
      body: BatchAnswer;
      answer: Batch;
    };
    "schedules.list": {
      method: "GET";
      path: ["worlds", string, "batch-schedules"];
      body: undefined;
      answer: BatchSchedules;
    };
    "schedules.set": {
      method: "PUT";
      path: ["worlds", string, "batch-schedules", string];
      body: BatchScheduleBody;
      answer: BatchScheduleView;
    };
    "schedules.delete": {
      method: "DELETE";
      path: ["worlds", string, "batch-schedules", string];
      body: undefined;
      answer: null;
    };
    "payments.reconcile": {
      method: "POST";
      path: ["worlds", string, "reconciliation"];
      body: ReconciliationBody;
      answer: ReconciliationView;
    };
    "next.add": {
      method: "POST";
      path: ["worlds", string, "scenario", "next"];
      body: NextOutcome | undefined;
      answer: QueuedView;
    };
    "next.list": {
      method: "GET";
      path: ["worlds", string, "scenario", "next"];
      body: undefined;
      answer: Queue;
    };
    "next.clear": {
      method: "DELETE";
      path: ["worlds", string, "scenario", "next"];
      body: undefined;
      answer: null;
    };
    "next.delete": {
      method: "DELETE";
      path: ["worlds", string, "scenario", "next", string];
      body: undefined;
      answer: null;
    };
    "taps.list": {
      method: "GET";
      path: ["worlds", string, "taps"];
      body: undefined;
      answer: Taps;
    };
    "taps.tap": {
      method: "POST";
      path: ["worlds", string, "taps", string];
      body: TapBody | undefined;
      answer: TappedView;
    };
    "webhooks.next.add": {
      method: "POST";
      path: ["worlds", string, "webhooks", "next"];
      body: NewWebhookFault;
      answer: WebhookFaultView;
    };
    "webhooks.next.list": {
      method: "GET";
      path: ["worlds", string, "webhooks", "next"];
      body: undefined;
      answer: WebhookFaultQueue;
    };
    "webhooks.next.clear": {
      method: "DELETE";
      path: ["worlds", string, "webhooks", "next"];
      body: undefined;
      answer: null;
    };
    "scenarios.list": {
      method: "GET";
      path: ["scenarios"];
      body: undefined;
      answer: Scenarios;
    };
    "scenario.schema": {
      method: "GET";
      path: ["scenario.schema.json"];
      body: undefined;
      answer: Record<string, any>;
    };
    "scenario.read": {
      method: "GET";
      path: ["worlds", string, "scenario"];
      body: undefined;
      answer: RunningScenario;
    };
    "scenario.run": {
      method: "PUT";
      path: ["worlds", string, "scenario"];
      body: ScenarioBody | undefined;
      answer: RunningScenario;
    };
    "scenario.stop": {
      method: "DELETE";
      path: ["worlds", string, "scenario"];
      body: undefined;
      answer: null;
    };
    "scenarios.read": {
      method: "GET";
      path: ["scenarios", string];
      body: undefined;
      answer: ScenarioFile;
    };
    "scenarios.check": {
      method: "POST";
      path: ["scenarios", "check"];
      body: CheckBody | undefined;
      answer: Problems;
    };
    "scenario.prove": {
      method: "POST";
      path: ["worlds", string, "scenario", "prove"];
      body: ProveBody | undefined;
      answer: Proof;
    };
    "scenario.play": {
      method: "POST";
      path: ["worlds", string, "scenario", "play"];
      body: PlayBody;
      answer: Play;
    };
    "outcomes.list": {
      method: "GET";
      path: ["outcomes"];
      body: undefined;
      answer: Outcomes;
    };
    "cards.list": {
      method: "GET";
      path: ["cards"];
      body: undefined;
      answer: Cards;
    };
    "triggers.list": {
      method: "GET";
      path: ["triggers"];
      body: undefined;
      answer: Triggers;
    };
    "machines.list": {
      method: "GET";
      path: ["machines"];
      body: undefined;
      answer: Machines;
    };
    "machines.read": {
      method: "GET";
      path: ["machines", string];
      body: undefined;
      answer: MachineView;
    };
    "directory.read": {
      method: "GET";
      path: ["worlds", string, "directory"];
      body: undefined;
      answer: DirectoryPage;
    };
    "find": {
      method: "GET";
      path: ["find"];
      body: undefined;
      answer: Findings;
    };
    "messages.list": {
      method: "GET";
      path: ["worlds", string, "messages"];
      body: undefined;
      answer: Messages;
    };
    "messages.send": {
      method: "POST";
      path: ["worlds", string, "messages"];
      body: Sample;
      answer: MessageView;
    };
    "messages.read": {
      method: "GET";
      path: ["worlds", string, "messages", string];
      body: undefined;
      answer: MessageView;
    };
    "messages.resend": {
      method: "POST";
      path: ["worlds", string, "messages", string, "resend"];
      body: Resend | undefined;
      answer: Resent;
    };
    "messages.wait": {
      method: "GET";
      path: ["worlds", string, "wait"];
      body: undefined;
      answer: MessageView;
    };
    "receivers.create": {
      method: "POST";
      path: ["worlds", string, "receivers"];
      body: NewReceiver | undefined;
      answer: ReceiverView;
    };
    "receivers.list": {
      method: "GET";
      path: ["worlds", string, "receivers"];
      body: undefined;
      answer: Receivers;
    };
    "receivers.delete": {
      method: "DELETE";
      path: ["worlds", string, "receivers", string];
      body: undefined;
      answer: null;
    };
    "receivers.received": {
      method: "GET";
      path: ["worlds", string, "receivers", string, "received"];
      body: undefined;
      answer: ReceivedPage;
    };
    "messages.verify": {
      method: "GET";
      path: ["worlds", string, "messages", string, "verify"];
      body: undefined;
      answer: VerifyView;
    };
    "verify": {
      method: "POST";
      path: ["worlds", string, "verify"];
      body: VerifyBody;
      answer: VerifyView;
    };
    "endpoints.create": {
      method: "POST";
      path: ["worlds", string, "endpoints"];
      body: CreateEndpoint;
      answer: EndpointView;
    };
    "endpoints.list": {
      method: "GET";
      path: ["worlds", string, "endpoints"];
      body: undefined;
      answer: Endpoints;
    };
    "applications.list": {
      method: "GET";
      path: ["worlds", string, "applications"];
      body: undefined;
      answer: Applications;
    };
    "endpoints.read": {
      method: "GET";
      path: ["worlds", string, "endpoints", string];
      body: undefined;
      answer: EndpointView;
    };
    "endpoints.change": {
      method: "PATCH";
      path: ["worlds", string, "endpoints", string];
      body: ChangeEndpoint | undefined;
      answer: EndpointView;
    };
    "endpoints.delete": {
      method: "DELETE";
      path: ["worlds", string, "endpoints", string];
      body: undefined;
      answer: null;
    };
    "endpoints.rotate": {
      method: "POST";
      path: ["worlds", string, "endpoints", string, "rotate-secret"];
      body: Rotate | undefined;
      answer: EndpointView;
    };
    "endpoints.enable": {
      method: "POST";
      path: ["worlds", string, "endpoints", string, "enable"];
      body: undefined;
      answer: EndpointView;
    };
    "endpoints.recover": {
      method: "POST";
      path: ["worlds", string, "endpoints", string, "recover"];
      body: Recover;
      answer: Recovered;
    };
    "send": {
      method: "POST";
      path: ["worlds", string, "send"];
      body: SendBody;
      answer: Answered | Begun;
    };
    "requests.replay": {
      method: "POST";
      path: ["worlds", string, "requests", string, "replay"];
      body: ReplayBody | undefined;
      answer: Answered | Begun;
    };
    "requests.list": {
      method: "GET";
      path: ["worlds", string, "requests"];
      body: undefined;
      answer: Requests;
    };
    "requests.clear": {
      method: "DELETE";
      path: ["worlds", string, "requests"];
      body: undefined;
      answer: null;
    };
    "requests.read": {
      method: "GET";
      path: ["worlds", string, "requests", string];
      body: undefined;
      answer: JournalEntry;
    };
    "requests.export": {
      method: "POST";
      path: ["worlds", string, "export"];
      body: ExportBody;
      answer: ExportedFile;
    };
    "stream.read": {
      method: "GET";
      path: ["worlds", string, "stream"];
      body: undefined;
      answer: string;
    };
    "capture.read": {
      method: "GET";
      path: ["worlds", string, "capture"];
      body: undefined;
      answer: string;
    };
    "report.page": {
      method: "GET";
      path: ["report.html"];
      body: undefined;
      answer: string;
    };
    "coverage.read": {
      method: "GET";
      path: ["worlds", string, "coverage"];
      body: undefined;
      answer: Coverage;
    };
    "coverage.total": {
      method: "GET";
      path: ["coverage"];
      body: undefined;
      answer: Coverage;
    };
    "ledger.read": {
      method: "GET";
      path: ["ledger"];
      body: undefined;
      answer: Ledger;
    };
    "openapi.platform": {
      method: "GET";
      path: ["platform", "openapi.json"];
      body: undefined;
      answer: Record<string, any>;
    };
    "openapi.control": {
      method: "GET";
      path: ["openapi.json"];
      body: undefined;
      answer: Record<string, any>;
    };
    "tls.ca": {
      method: "GET";
      path: ["ca.pem"];
      body: undefined;
      answer: string;
    };
  }
}
