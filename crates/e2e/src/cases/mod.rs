//! The cases, in the order in which they run. A file is one claim.

use crate::suite::Case;

mod a_definition_is_deleted_and_created_again;
mod a_factory_shares_its_informers;
mod a_forbidden_list_is_told_once_and_recovers;
mod a_full_speed_writer_loses_nothing;
mod a_half_open_connection_is_noticed;
mod a_killed_server_is_survived;
mod a_late_handler_gets_everything;
mod a_replaced_leader_writes_nothing;
mod a_restarted_informer_tells_the_difference;
mod an_unknown_token_recovers_when_it_is_accepted;
mod bad_endpoints_are_named;
mod events_are_recorded_in_both_forms;
mod every_format_syncs;
mod lost_versions_make_gap_deletions_stale;
mod objects_enter_and_leave_a_field_selector;
mod objects_enter_and_leave_a_label_selector;
mod own_writes_are_waited_for;
mod several_namespaces_share_one_cache;
mod the_sample_controller_survives_everything;
mod watch_list_and_list_agree;
mod watches_share_connections;

/// One line a case: its file is its name.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        &[$(Case { name: stringify!($name), run: |context| Box::pin($name::run(context)) }),+]
    };
}

/// Every case.
pub(crate) const CASES: &[Case] = cases![
    every_format_syncs,
    watch_list_and_list_agree,
    a_full_speed_writer_loses_nothing,
    own_writes_are_waited_for,
    events_are_recorded_in_both_forms,
    several_namespaces_share_one_cache,
    a_factory_shares_its_informers,
    watches_share_connections,
    a_late_handler_gets_everything,
    a_restarted_informer_tells_the_difference,
    objects_enter_and_leave_a_label_selector,
    objects_enter_and_leave_a_field_selector,
    a_half_open_connection_is_noticed,
    bad_endpoints_are_named,
    a_forbidden_list_is_told_once_and_recovers,
    a_definition_is_deleted_and_created_again,
    a_killed_server_is_survived,
    lost_versions_make_gap_deletions_stale,
    an_unknown_token_recovers_when_it_is_accepted,
    the_sample_controller_survives_everything,
    a_replaced_leader_writes_nothing,
];
