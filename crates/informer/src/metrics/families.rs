//! Every metric there is: its name, what it means, and its type.

use super::samples::{Family, Kind};

macro_rules! families {
    ($($constant:ident = $kind:ident $name:literal: $help:literal;)*) => {
        $(pub(crate) const $constant: &Family = &Family { name: $name, help: $help, kind: Kind::$kind };)*
    };
}

// client-go's names.
families! {
    QUEUE_DEPTH = Gauge "workqueue_depth": "Keys that wait, by priority.";
    QUEUE_ADDS = Counter "workqueue_adds": "Times a key began to wait.";
    QUEUE_WAITING = Histogram "workqueue_queue_duration_seconds": "Seconds a key waited before it was taken.";
    QUEUE_WORKING = Histogram "workqueue_work_duration_seconds": "Seconds a key was worked on.";
    QUEUE_UNFINISHED = Gauge "workqueue_unfinished_work_seconds":
        "Seconds spent so far on keys that are being worked on, summed: grows without end if one is stuck.";
    QUEUE_LONGEST = Gauge "workqueue_longest_running_processor_seconds":
        "Seconds the longest running worker has worked on its key.";
    QUEUE_RETRIES = Counter "workqueue_retries": "Adds with a delay, by the rate limiter or not.";

    QUEUED_ITEMS = Gauge "informer_queued_items":
        "Objects received as part of a list that is not complete yet.";
    PROCESSING = Histogram "informer_processing_latency_seconds":
        "Seconds a batch of changes took into the cache and to the backlogs of handlers.";
    STORE_VERSION = Gauge "informer_store_resource_version":
        "The 15 least significant digits of the resource version the cache is at.";

    LISTS = Counter "reflector_lists": "Lists begun, WatchLists included.";
    LIST_SECONDS = Histogram "reflector_list_duration_seconds": "Seconds a complete list took, all pages together.";
    LIST_ITEMS = Histogram "reflector_items_per_list": "Items of a complete list.";
    WATCHES = Counter "reflector_watches": "Watches the server accepted.";
    SHORT_WATCHES = Counter "reflector_short_watches":
        "Watches that ended within a second and without an event.";
    WATCH_SECONDS = Histogram "reflector_watch_duration_seconds": "Seconds a watch lasted.";
    WATCH_ITEMS = Histogram "reflector_items_per_watch": "Events of a watch, bookmarks included.";
    LAST_VERSION = Gauge "reflector_last_resource_version":
        "The 15 least significant digits of the last resource version heard of.";

    LEADS = Gauge "leader_election_master_status": "1 if this process leads, else 0.";
    SLOW_PATHS = Counter "leader_election_slowpath": "Times the Lease had to be read again in order to renew it.";

    REST_REQUESTS = Counter "rest_client_requests":
        "Requests sent, by status code, method and host; the code is <error> if no answer came.";
    REST_SECONDS = Histogram "rest_client_request_duration_seconds":
        "Seconds until the headers of the answer came, by verb and host.";
}

// controller-runtime's names.
families! {
    RECONCILES = Counter "controller_runtime_reconcile": "Reconciles that have ended, by result.";
    RECONCILE_ERRORS = Counter "controller_runtime_reconcile_errors":
        "Reconciles that failed: errors, panics and timeouts.";
    RECONCILE_TERMINAL = Counter "controller_runtime_terminal_reconcile_errors":
        "Reconciles that failed for good, not tried again before a change.";
    RECONCILE_PANICS = Counter "controller_runtime_reconcile_panics": "Reconciles that panicked.";
    RECONCILE_TIMEOUTS = Counter "controller_runtime_reconcile_timeouts": "Reconciles that were not done in time.";
    RECONCILE_SECONDS = Histogram "controller_runtime_reconcile_time_seconds": "Seconds a reconcile took.";
    CONCURRENCY = Gauge "controller_runtime_max_concurrent_reconciles": "Reconciles that may run at once.";
    ACTIVE = Gauge "controller_runtime_active_workers": "Reconciles that run now.";
}

// Ours: what client-go does not count.
families! {
    SYNCED = Gauge "informer_synced": "1 if the first list is in the cache, else 0.";
    WATCHING = Gauge "informer_watching": "1 if the informer is in step with the server, else 0.";
    FAILING = Gauge "informer_failing": "1 from a failure until things work again, else 0.";
    OBJECTS = Gauge "informer_objects": "Objects in the cache.";
    STALE = Gauge "informer_stale_objects":
        "Cached objects whose newer version cannot be decoded.";
    HEARD = Gauge "informer_last_heard_seconds": "Seconds since the server was heard last.";
    DECODE_ERRORS = Counter "informer_decode_errors": "Objects and events that could not be decoded.";
    INDEX_ERRORS = Counter "informer_index_errors": "Panics of index functions.";
    REQUESTS = Counter "informer_requests": "List and watch requests sent.";
    REQUEST_FAILURES = Counter "informer_request_failures": "List and watch requests that failed.";
    HANDLERS = Gauge "informer_handlers": "Handlers and subscriptions.";
    BACKLOG = Gauge "informer_handler_backlog": "Notifications that wait for handlers, all of them together.";
    BACKLOG_HIGH = Gauge "informer_handler_backlog_high_water":
        "The largest number of notifications that ever waited for one handler.";
    CONFLATIONS = Counter "informer_handler_conflations":
        "Times a handler fell behind its limit, so that its backlog was reduced to net changes.";
    MERGED = Counter "informer_handler_merged_notifications": "Notifications merged away for handlers that fell behind.";
    PANICS = Counter "informer_handler_panics": "Panics of handlers.";

    QUEUE_DELAYED = Gauge "workqueue_delayed": "Keys that wait for their time to come.";
    QUEUE_PROCESSING = Gauge "workqueue_processing": "Keys that are being worked on.";

    WAITING_KEYS = Gauge "informer_controller_keys_waiting_for_cache":
        "Keys that wait for the cache to show what was written.";
    CACHE_WAITS = Counter "informer_controller_cache_waits":
        "Times a key began to wait for the cache to show what was written.";
    STALE_READS = Counter "informer_controller_stale_reads":
        "Reconciles that ran although the cache did not show in time what was written.";
    EXPIRED = Counter "informer_controller_expired_expectations":
        "Expected creations or deletions that were not seen in time.";
    MAPPING_PANICS = Counter "informer_controller_mapping_panics": "Panics of predicates and mapping functions.";

    TERMS = Counter "informer_leader_election_terms": "Terms of this process.";
    LOST_TERMS = Counter "informer_leader_election_lost_terms": "Terms that this process lost.";
    LEASE_FAILURES = Counter "informer_leader_election_failed_requests": "Requests about the Lease that failed.";

    EVENTS = Counter "informer_event_recorder_events": "Events recorded, those dropped at once included.";
    EVENTS_REFUSED = Counter "informer_event_recorder_refused_events":
        "Events dropped before any sink, by reason.";
    EVENTS_WRITTEN = Counter "informer_event_recorder_written_events": "Events written to a sink.";
    EVENTS_DROPPED = Counter "informer_event_recorder_dropped_events": "Events a sink dropped, by reason.";
    EVENTS_PENDING = Gauge "informer_event_recorder_pending_events": "Events on their way to a sink.";
    EVENT_REQUESTS = Counter "informer_event_recorder_requests": "Requests a sink sent, failed ones included.";
}
