//! The one list of behaviours, and the macro that stamps a test for each of them.

/// Stamps one `#[test]` per behaviour, in a module per noun, on the store that `$make` makes.
///
/// `$make` is the path of a function without parameters that returns `impl Harness` (or a
/// `Box<dyn Harness>`) around a fresh, empty store. Put each call in a module of its own:
/// `mod sqlite { ah_conformance::conformance!(super::make_sqlite); }`.
#[macro_export]
macro_rules! conformance {
    ($make:path) => {
        $crate::stamp! {
            $make;
            agent {
                a_name_and_an_id_are_never_those_of_two_agents,
                an_agent_is_kept_with_all_it_was_given_and_its_first_session,
                an_agent_gets_an_id_that_sorts_by_its_creation,
                agents_of_every_type_keep_their_descriptor,
                an_agent_without_a_descriptor_gets_a_plain_one_or_is_refused,
                bad_agents_are_refused_and_nothing_is_written,
                a_taken_id_name_or_origin_is_a_conflict_that_changes_nothing,
                an_agent_is_found_by_id_name_origin_and_the_beginning_of_its_id,
                an_unknown_agent_is_not_found_by_any_verb,
                agents_are_paged_by_the_bytes_of_their_name_each_once,
                each_filter_of_agents_alone_and_together_lists_what_matches,
                the_largest_agents_are_kept_and_listed_each_once,
                an_update_changes_what_is_given_and_counts_the_revision,
                a_refused_update_changes_nothing,
                of_racing_updates_of_one_revision_one_wins,
                of_racing_creations_of_one_name_one_wins,
                an_agent_sleeps_and_wakes_and_staying_is_no_change,
                the_death_of_an_agent_ends_its_session,
                a_session_that_had_ended_keeps_its_end_when_its_agent_dies,
                a_dead_agent_changes_no_more_and_stays_listed,
                a_session_of_nobody_is_no_agents,
            }
            agent_destroy {
                a_destroyed_agent_leaves_a_tombstone,
                all_that_a_destroyed_agent_had_is_kept,
                a_retired_agent_can_be_destroyed_and_keeps_its_end,
                the_live_run_of_a_destroyed_agent_is_stopped,
                the_pending_approvals_of_a_destroyed_agent_fail,
                a_protected_agent_is_not_destroyed,
                a_revival_is_asked_for_once_and_decided_by_the_operator,
                an_approved_revival_brings_the_agent_back_with_what_it_left,
                a_revived_agent_can_be_destroyed_again,
                a_destroyed_agents_wish_to_come_back_fails_with_nothing_else,
                questions_and_mail_outlive_the_agent,
                of_racing_destructions_and_revivals_each_happens_once,
                nothing_is_asked_for_an_agent_beside_its_end_or_its_return,
            }
            agent_import {
                an_imported_agent_is_kept_with_its_sessions_and_events,
                importing_again_adds_nothing,
                new_lines_of_a_known_session_are_added,
                a_new_session_is_numbered_next_and_goes_on,
                a_last_session_that_is_said_to_have_ended_has_ended,
                a_known_agent_takes_newer_state_and_no_older,
                a_taken_name_gets_a_number_behind_it,
                a_taken_id_is_replaced_by_a_fresh_one,
                an_agent_that_went_on_here_stays_where_it_went,
                a_dead_agent_is_imported_with_its_session_ended,
                an_agent_that_died_elsewhere_dies_here,
                an_agent_that_died_here_stays_dead,
                an_agent_that_went_on_here_and_died_elsewhere_ends_where_it_went,
                an_import_of_earlier_sessions_alone_takes_no_step_back,
                a_session_that_an_import_leaves_behind_ends,
                what_another_program_left_as_a_descriptor_is_kept,
                one_bad_part_of_an_import_changes_nothing,
                a_session_of_another_agent_refuses_the_whole_import,
                the_same_ids_of_another_source_are_others,
                an_imported_agent_lives_on_as_any_other,
                racing_imports_of_one_agent_bring_everything_once,
            }
            agent_kind {
                a_kind_keeps_its_number_and_its_metadata_until_other_is_given,
                kinds_are_paged_by_number_each_once,
                creating_a_session_registers_its_kind_and_leaves_its_metadata,
                a_kind_that_cannot_be_typed_is_refused_and_not_kept,
            }
            agent_session {
                the_first_event_begins_the_session_and_no_other_does,
                an_event_that_was_there_already_begins_nothing,
                an_append_to_an_ended_session_leaves_it_ended,
                a_sleeping_agent_takes_events_and_renewals_and_stays_asleep,
                bad_batches_for_an_agent_are_refused_whole,
                a_reset_ends_the_session_and_begins_the_next_with_its_message,
                a_compaction_begins_the_next_session_with_its_summary,
                a_fork_goes_on_from_a_point_of_any_of_its_sessions,
                a_session_that_had_ended_keeps_its_end_when_its_agent_goes_on,
                a_new_session_has_a_log_of_its_own,
                sessions_are_listed_by_number_whatever_the_clock_did,
                a_renewal_that_expected_something_else_changes_nothing,
                bad_renewals_are_refused_and_change_nothing,
                racing_resets_leave_numbers_without_gaps_and_one_active_session,
                of_racing_resets_that_expect_one_session_one_wins,
                appends_racing_with_resets_land_once_in_a_session_that_was_active,
                usage_is_summed_for_each_session_and_for_the_agent,
                racing_appends_lose_no_usage_of_their_agent,
                a_deleted_session_takes_its_cost_with_it_and_brings_it_back_once,
                a_session_that_comes_back_to_an_agent_that_went_on_has_ended,
                an_append_that_expects_another_session_is_a_conflict,
                forks_race_with_sessions_that_go_and_come_back,
                the_active_session_of_an_agent_cannot_be_deleted,
                an_earlier_session_can_be_deleted_and_its_number_is_not_given_again,
                a_fork_that_is_no_renewal_belongs_to_no_agent,
                a_session_keeps_its_agent_through_every_other_change,
            }
            approval {
                an_approval_is_kept_as_it_was_asked_for,
                bad_requests_are_refused_and_nothing_is_written,
                approvals_are_of_agents_that_live,
                a_spawn_is_of_one_that_is_not_there,
                one_that_waits_for_its_spawn_gets_that_answer_again,
                an_approval_is_decided_once_and_the_agent_told,
                an_agent_may_only_withdraw_what_is_its_own,
                bad_decisions_are_refused_and_change_nothing,
                what_was_approved_is_carried_out_once,
                the_spawn_of_a_newcomer_is_the_hosts_to_carry_out,
                the_dead_are_told_of_decisions_as_well,
                each_filter_of_approvals_alone_and_together_lists_what_matches,
                what_is_still_to_be_carried_out_is_listed,
                an_approval_is_found_by_the_beginning_of_its_id,
                each_of_many_approvals_is_decided_once_by_racing_operators,
                of_racing_spawns_of_one_name_one_is_asked_for,
            }
            callback {
                a_child_that_ends_resumes_its_parent_at_once,
                a_callback_run_goes_to_the_parents_host_and_parent,
                only_who_asked_to_be_called_is,
                the_sessions_parent_is_called_when_the_run_names_none,
                a_callback_waits_while_the_parent_works,
                a_callback_is_delivered_when_the_parents_run_is_lost,
                a_parent_with_a_run_in_the_queue_is_told_behind_it,
                what_waits_is_told_together_in_the_order_it_came,
                one_run_carries_so_many_and_the_next_the_rest,
                every_way_to_end_tells_the_parent,
                a_requeued_child_tells_nothing_yet,
                a_callback_is_recorded_once_however_often_the_end_is_said,
                each_run_of_a_child_tells_its_own_end,
                what_a_run_carried_that_never_began_waits_again,
                a_carrier_that_goes_back_to_the_queue_still_carries,
                what_a_run_carried_that_began_is_told,
                a_parent_that_was_stopped_is_not_resumed,
                a_parent_whose_run_was_stopped_is_not_resumed,
                a_parent_that_has_not_begun_is_told_after_its_first_run,
                a_sweep_tells_parents_that_became_free_by_themselves,
                a_parent_that_is_gone_is_told_nothing,
                what_a_child_told_outlives_it,
                parents_in_a_row_are_told_one_after_the_other,
                of_children_that_end_at_once_each_is_told_once,
                of_a_child_and_its_parent_that_end_at_once_the_parent_is_told,
            }
            concurrency {
                concurrent_appends_leave_no_gap_and_lose_nothing,
                of_two_appends_racing_with_one_key_one_is_a_duplicate,
                of_appends_racing_behind_one_event_one_wins,
                of_racing_creations_of_one_id_one_wins,
                racing_creations_register_a_repo_once,
                minted_ids_are_different_on_every_thread,
            }
            context {
                a_context_is_the_same_bytes_after_reopening,
                the_reason_of_a_new_session_comes_first_after_reopening,
                a_fork_reads_the_log_it_stands_on_through_several_levels,
                a_context_is_made_of_the_newest_records_that_fit,
                a_context_of_more_records_than_a_page_is_read_to_its_limit,
                the_context_of_any_session_is_read_and_of_none_refused,
                a_repair_closes_what_is_open_and_done_twice_is_one_history,
                an_answer_that_comes_after_the_repair_takes_its_place,
                repairs_at_once_give_one_history,
                calls_that_share_an_id_are_each_repaired_once,
                nothing_open_is_nothing_to_repair,
                a_fork_is_repaired_in_its_own_log,
                a_chain_of_forks_beyond_reading_is_left_out_not_refused,
                a_turn_of_thousands_of_calls_is_repaired,
                a_restored_agent_is_repaired_where_it_goes_on,
                the_dead_are_not_loaded_and_the_sleeping_apart,
                more_agents_than_a_page_are_loaded,
            }
            draft {
                a_draft_is_saved_over_and_keeps_the_time_it_was_begun,
                a_draft_of_a_given_id_is_made_when_absent,
                drafts_are_paged_by_id_in_the_order_they_were_begun,
                a_deleted_draft_is_gone,
                launching_a_draft_records_the_task_and_removes_the_draft,
                a_launch_that_is_refused_keeps_the_draft,
                bad_drafts_are_refused_and_the_old_one_stays,
            }
            event {
                events_are_numbered_from_one_without_gaps,
                the_same_dedup_key_again_returns_the_first_seq,
                duplicates_within_one_batch_count_too,
                an_append_behind_another_event_than_the_newest_is_a_conflict,
                payloads_survive_byte_for_byte,
                types_keys_and_times_are_kept_as_given,
                order_is_that_of_seq_when_the_clock_goes_back,
                activity_is_the_time_of_the_append_not_of_the_event,
                usage_is_summed_from_new_events_only,
                a_finished_session_still_takes_events,
                the_largest_event_is_kept,
                a_full_batch_is_appended,
                bad_events_are_refused_with_their_whole_batch,
                appending_to_an_unknown_session_is_not_found,
            }
            event_query {
                a_log_is_read_in_pages_from_its_start,
                the_newest_events_come_in_ascending_order,
                events_are_filtered_by_type,
                a_cursor_beyond_the_end_reads_nothing,
                a_page_ends_early_rather_than_hold_too_many_bytes,
                bad_queries_and_unknown_sessions_are_refused,
                a_log_is_read_up_to_a_seq_from_either_end,
            }
            executor {
                an_executor_is_kept_with_all_it_said,
                registering_again_replaces_and_counts,
                registering_again_leaves_what_it_holds,
                executors_are_paged_by_id_each_once,
                signs_of_life_are_noted_now_and_then,
                an_executor_is_asked_to_go_once,
                what_a_removed_executor_holds_is_lost_at_once,
                an_executor_that_comes_back_is_a_new_one,
                an_unknown_executor_is_not_found_by_any_verb,
                who_is_not_registered_may_hold_runs,
                bad_executors_are_refused_and_nothing_is_written,
                racing_registrations_are_counted_each,
            }
            executor_claim {
                a_run_is_claimed_by_its_name_past_those_that_wait_longer,
                a_named_run_that_does_not_wait_or_fit_is_not_claimed,
                machine_labels_and_tags_of_an_enrolled_executor_meet_demands,
                rules_decide_whose_runs_an_executor_takes,
                a_callback_is_carried_for_who_asked_for_the_parents_last_run,
            }
            executor_enrol {
                an_enrolment_is_kept_with_all_it_said,
                enrolling_again_replaces_what_it_said_and_nothing_the_operator_said,
                history_tells_of_an_enrolment_only_what_is_new,
                an_executor_is_changed_part_by_part_and_each_change_is_recorded,
                a_change_of_nothing_is_no_change,
                a_disabled_executor_stays_out_until_it_is_enabled,
                a_revoked_executor_never_comes_again,
                what_an_executor_holds_is_lost_when_it_is_shut_out,
                a_draining_executor_keeps_what_it_has_and_gets_nothing_new,
                executors_are_filtered_by_status_tag_and_label,
                history_outlives_the_executor_and_names_strangers,
                history_is_paged_newest_first_each_once,
                rules_of_users_are_set_and_taken_away_one_by_one,
                bad_enrolments_changes_and_notes_are_refused_and_nothing_is_written,
                racing_enrolments_are_counted_each,
                of_a_disabling_racing_with_claims_nothing_is_left_with_it,
            }
            export {
                an_export_imported_again_exports_the_same_bytes,
                exports_travel_between_stores_unchanged,
                an_empty_session_is_exported_and_imported,
                importing_twice_changes_nothing,
                an_import_cut_short_is_finished_by_the_next,
                damaged_documents_are_refused_and_nothing_is_written,
                a_session_with_other_events_is_a_conflict_and_stays,
                a_session_of_another_beginning_is_a_conflict_and_stays,
                a_session_that_went_on_since_its_export_keeps_its_row,
                an_older_export_takes_nothing_back,
                an_import_into_a_log_that_went_another_way_is_a_conflict,
                an_append_during_an_import_ends_it_and_nothing_interleaves,
                of_two_imports_at_once_one_ends_and_nothing_is_doubled,
                more_tasks_than_a_page_are_exported_and_imported,
                more_events_than_a_page_are_exported_and_imported,
                exporting_an_unknown_session_is_not_found,
                a_child_is_imported_without_the_parent_it_lost,
            }
            feed {
                every_change_of_a_session_is_told,
                every_change_of_an_agents_sessions_is_told,
                every_change_of_a_run_is_told,
                the_run_that_carries_a_callback_is_told,
                every_change_of_an_executor_is_told,
                what_is_no_change_is_not_told,
                changes_are_in_the_order_of_their_commits,
                events_are_told_as_they_were_appended,
                a_cursor_goes_on_exactly_behind_its_entry,
                a_page_of_the_feed_ends_early_rather_than_hold_too_many_bytes,
                the_end_is_where_nothing_is_left,
                a_deleted_session_leaves_its_end_and_no_events,
                the_newest_event_that_is_deleted_gives_its_number_to_nobody,
                a_reader_at_the_end_misses_nothing_when_the_end_is_deleted,
                a_watch_of_the_feed_gives_what_is_stored_and_then_what_comes,
                a_waiting_watch_of_the_feed_is_woken_by_events_and_by_changes,
                a_keyed_view_of_the_store_has_the_same_feed,
                a_reader_beside_writers_misses_nothing,
                a_watch_of_the_feed_beside_writers_misses_nothing,
                what_an_import_brings_is_told,
            }
            feed_hive {
                every_change_of_an_agent_is_told,
                what_an_import_makes_of_an_agent_is_told,
                a_revival_is_told_as_what_it_is,
                every_change_of_a_message_is_told,
                a_lease_that_ends_in_a_receipt_is_told_too,
                every_change_of_an_approval_is_told,
                every_change_of_a_question_is_told,
                what_is_brought_from_elsewhere_is_told,
                notices_are_told_behind_their_cause,
                what_is_refused_is_not_told,
            }
            fence {
                a_fence_begins_with_every_member_unheard,
                a_fleet_has_one_open_fence_and_an_ended_one_none,
                the_step_is_queued_exactly_when_all_have_the_same_files,
                a_step_runs_on_those_who_are_named,
                a_leader_alone_is_consistent_with_its_snapshot,
                only_the_holder_of_a_member_is_heard,
                nobody_speaks_out_of_turn_or_says_two_things,
                a_member_that_cannot_reach_it_fails_the_fence,
                a_leader_without_a_snapshot_ends_the_fence,
                a_sweep_ends_what_is_over_and_names_the_laggards,
                what_is_said_too_late_ends_the_fence_though_it_is_refused,
                who_does_not_hold_the_run_does_not_even_end_what_is_over,
                a_change_of_the_fleet_gives_up_its_fence,
                who_joins_or_leaves_beside_a_fence_does_not_disturb_it,
                the_end_of_a_fleet_gives_up_its_fence_and_stops_its_steps,
                the_successor_is_who_reached_the_newest_fence,
                fences_are_listed_newest_first_and_the_open_ones_oldest_first,
                of_racing_fences_one_begins,
                the_last_followers_at_once_queue_the_step_once,
                of_a_sweep_racing_with_the_last_report_the_fence_ends_once,
            }
            fleet {
                forming_a_fleet_queues_a_run_for_each_member,
                a_fleet_is_told_in_the_feed_and_survives_a_reopening,
                a_session_has_one_live_fleet_and_none_when_it_has_ended,
                the_epoch_goes_on_from_the_former_fleet,
                members_live_beside_the_one_run_of_the_session,
                the_run_of_a_member_moves_neither_its_session_nor_a_parent,
                a_member_that_completed_without_a_word_before_moves_nothing,
                a_member_may_append_to_the_log_of_its_session,
                another_leader_raises_the_epoch,
                members_join_and_leave,
                a_change_that_does_not_fit_is_refused,
                the_end_of_a_fleet_stops_its_runs,
                a_session_that_ends_or_is_asked_to_stop_ends_its_fleet,
                the_session_that_an_agent_leaves_ends_its_fleet,
                an_idle_session_keeps_its_fleet,
                a_session_is_deleted_with_its_fleet_unless_it_is_held,
                fleets_are_listed_newest_first_each_once,
                a_lost_leader_has_a_successor,
                a_leader_whose_lease_is_over_is_lost_with_the_sweep_of_runs,
                a_leader_that_was_never_held_is_waited_for,
                a_lost_leader_stays_while_nobody_else_is_at_work,
                a_leader_lost_for_good_has_a_successor,
                a_restored_run_keeps_its_member,
                of_racing_formations_one_wins,
                of_racing_sweeps_one_names_the_successor,
            }
            hive {
                a_sweep_counts_what_time_decided,
                a_sweep_does_no_more_than_one_step_takes,
                what_is_due_longest_is_swept_first,
                racing_sweeps_count_each_thing_once,
                who_waits_for_what_is_there_waits_no_longer,
                who_waits_for_mail_is_woken_by_it,
                who_waits_for_an_answer_or_a_decision_is_woken_by_it,
                what_is_not_known_is_not_waited_for,
                many_who_wait_are_all_woken,
                what_is_brought_from_elsewhere_is_kept_in_its_order,
                bringing_it_again_adds_only_what_is_new,
                what_went_on_there_and_not_here_goes_on_here,
                what_went_on_here_stays_as_it_is_here,
                what_was_being_handled_there_ends_as_it_does_there_unless_handed_out_here,
                another_message_of_that_id_ends_nothing_here,
                dead_letters_and_late_answers_are_brought_as_they_are,
                a_bad_part_of_what_is_brought_refuses_it_all,
                what_is_brought_names_agents_as_they_are_spelled_here,
                racing_imports_bring_everything_once,
            }
            keyed {
                a_session_is_created_once_for_a_key,
                a_task_a_draft_and_its_launch_are_done_once_for_a_key,
                a_workspace_is_created_once_for_a_key,
                an_agent_and_its_renewals_are_made_once_for_a_key,
                events_are_appended_once_for_a_key,
                a_run_is_queued_claimed_and_told_of_once_for_a_key,
                a_claim_that_found_nothing_keeps_no_answer,
                a_stop_is_asked_once_for_a_key,
                a_token_and_an_executor_are_kept_once_for_a_key,
                mail_is_sent_and_handed_out_once_for_a_key,
                a_receiver_that_got_nothing_is_given_no_answer_again,
                a_turn_is_done_once_for_a_key_though_nothing_came,
                approvals_and_questions_are_asked_for_once_for_a_key,
                the_hive_of_elsewhere_is_brought_once_for_a_key,
                a_request_is_answered_again_although_the_world_moved_on,
                a_refused_request_keeps_no_answer,
                different_keys_are_different_requests,
                the_longest_key_is_kept_and_told_from_its_neighbour,
                what_only_reads_or_moves_ignores_the_key,
                a_report_of_a_run_is_answered_again_not_heard_again,
                an_answer_is_kept_for_its_time,
                of_racing_requests_of_one_key_one_is_done,
                of_racing_appends_of_one_key_one_is_done,
                of_racing_claims_of_one_key_one_is_done,
            }
            kv {
                the_last_value_written_is_read_in_its_scope_only,
                a_deleted_pair_is_gone_and_deleting_it_again_is_not_found,
                pairs_are_paged_by_the_bytes_of_their_key_each_once,
                large_pairs_are_listed_each_once_however_many_fit_a_page,
                values_up_to_the_limit_are_kept,
                bad_pairs_are_refused_and_the_old_value_stays,
                asking_for_a_name_that_cannot_be_is_invalid,
            }
            lineage {
                a_fork_is_a_new_session_that_names_its_point,
                a_fork_takes_a_title_and_mints_its_id,
                a_fork_past_the_end_or_onto_a_taken_id_is_refused,
                a_deleted_session_takes_its_events_tasks_and_runs_with_it,
                a_session_that_forks_stand_on_cannot_be_deleted,
                children_outlive_their_parent,
            }
            message {
                a_message_is_kept_as_it_was_sent,
                a_message_gets_an_id_that_sorts_by_its_sending,
                several_recipients_get_one_each_in_their_order,
                a_message_goes_to_all_its_recipients_or_to_none,
                only_those_who_live_write,
                names_in_any_case_are_kept_as_the_agent_spells_them,
                what_is_wrong_with_a_message_is_said_in_one_order,
                a_reply_is_to_what_its_writer_wrote_or_got,
                a_taken_message_id_is_a_conflict_that_changes_nothing,
                bad_messages_are_refused_and_nothing_is_written,
                any_text_is_kept_to_the_letter,
                the_largest_messages_are_kept_and_listed_each_once,
                each_filter_of_messages_alone_and_together_lists_what_matches,
                a_page_of_messages_goes_on_where_it_was_though_more_are_sent,
                a_message_is_found_by_the_beginning_of_its_id,
                an_unknown_message_is_not_found_by_any_verb,
                racing_senders_lose_nothing_and_each_keeps_its_order,
            }
            message_dead {
                a_message_that_is_given_back_too_often_is_dead,
                a_message_that_is_only_put_down_is_never_given_up,
                a_message_whose_leases_end_too_often_is_dead,
                the_operator_is_told_of_its_own_messages_too,
                notices_bounce_to_nobody,
                the_dead_are_told_too_and_read_it_if_they_come_back,
                a_dead_message_is_queued_again_with_all_its_tries,
                notices_that_wait_are_dismissed_and_mail_stays,
            }
            message_receive {
                the_oldest_message_is_handed_out_under_a_lease,
                so_many_as_are_wanted_are_handed_out_at_once,
                more_than_one_step_takes_is_handed_out_in_steps,
                one_message_of_many_can_be_asked_for,
                only_those_who_live_receive,
                bad_receivers_are_refused_and_get_nothing,
                a_lease_that_ends_queues_the_message_again,
                a_lease_that_is_over_is_handed_out_to_the_next_receiver,
                a_lease_is_kept_by_its_holder_alone,
                an_acknowledged_message_is_handled_once_and_for_all,
                what_was_never_handed_out_is_not_acknowledged,
                a_late_acknowledgement_holds_while_nobody_else_got_it,
                acknowledgements_are_taken_all_or_none,
                a_turn_is_acknowledged_with_the_next_receipt,
                a_message_that_is_given_back_is_queued_again,
                a_message_that_was_given_back_rests_so_long,
                a_clock_that_goes_back_ends_no_lease,
                messages_are_handed_to_those_they_are_for,
                racing_receivers_never_hold_the_same_message,
                racing_turns_handle_each_message_once,
                of_a_late_holder_and_the_next_one_racing_one_is_heard,
                what_one_holds_is_listed_as_leased,
            }
            outbox {
                many_leases_are_kept_at_once,
                a_lease_that_is_not_the_executors_is_lost_and_stays_as_it_is,
                reports_are_applied_in_order_as_if_said_at_once,
                reports_that_come_again_change_nothing,
                an_event_whose_key_is_known_is_not_appended_again,
                a_gap_in_reports_is_refused_and_nothing_is_written,
                what_an_older_holder_says_is_refused_for_ever_and_recorded,
                what_is_not_the_reporters_to_say_is_refused_with_its_reason,
                outboxes_are_kept_apart_and_outlive_their_executor,
                an_end_that_is_reported_tells_the_parent,
                reported_events_wake_who_watches,
                a_full_report_of_several_runs_is_taken,
                bad_reports_are_refused_and_nothing_is_written,
                of_racing_reports_each_item_is_applied_once,
            }
            message_turn {
                a_turn_sends_acknowledges_and_receives_in_one_step,
                a_turn_is_taken_though_nothing_waits,
                a_turn_whose_message_is_refused_does_nothing,
                nobody_writes_in_the_turn_of_another,
                a_turn_whose_acknowledgement_is_refused_sends_nothing,
                more_than_a_turn_sends_is_refused,
                what_one_sends_oneself_comes_in_the_same_step,
                two_who_answer_each_other_in_turns_lose_nothing,
            }
            purge {
                all_that_belonged_to_a_purged_agent_is_gone,
                a_purge_leaves_a_receipt_and_a_free_name,
                only_a_destroyed_agent_is_purged,
                a_big_purge_goes_in_steps_and_the_agent_goes_last,
                sessions_that_others_stand_on_stay_and_are_nobodys,
                a_purged_agent_cannot_come_back,
                racing_purges_end_once,
            }
            question {
                a_question_is_kept_as_it_was_asked,
                an_agent_that_is_asked_is_told_and_the_operator_is_not,
                bad_questions_are_refused_and_nothing_is_written,
                an_answer_in_time_is_the_answer,
                the_operator_is_not_told_of_answers,
                an_answer_a_millisecond_before_the_deadline_is_in_time,
                an_answer_at_the_deadline_or_later_is_late,
                a_question_expires_when_somebody_reads_it_after_its_deadline,
                the_asker_learns_of_the_deadline_by_reading_its_mail,
                a_late_answer_does_not_reopen_a_clock_that_went_back,
                an_answer_is_one_that_was_asked_for,
                who_was_asked_and_the_operator_answer,
                a_question_is_taken_back_by_who_asked_or_the_operator,
                the_dead_are_told_of_answers_as_well,
                each_filter_of_questions_alone_and_together_lists_what_matches,
                a_question_is_found_by_the_beginning_of_its_id,
                of_racing_answers_one_is_the_answer,
            }
            repo {
                a_repo_is_numbered_once_and_found_by_its_number,
                a_known_repo_takes_what_is_new_and_keeps_the_rest,
                clones_of_one_remote_are_apart_and_a_remote_alone_is_one,
                a_session_shows_its_repo_as_it_is_known_now,
                repos_are_paged_by_number_each_once,
                a_repo_with_sessions_stays_and_one_without_can_go,
                a_repo_without_place_or_with_bad_text_is_refused,
            }
            restore {
                an_absent_session_is_made_as_the_header_says_without_events,
                a_present_session_takes_the_row_and_keeps_its_log,
                a_session_of_another_beginning_refuses_the_header,
                a_present_session_with_another_end_refuses_the_header,
                an_origin_that_is_taken_refuses_the_header,
                links_to_what_is_not_here_are_dropped_but_a_fork_needs_its_stem,
                a_fork_past_the_end_of_its_stem_refuses_the_header,
                a_known_workspace_is_kept_where_there_are_workspaces,
                a_restored_session_is_its_agents_again_where_its_place_is_free,
                a_present_session_keeps_the_agent_it_has,
                a_header_no_store_would_have_written_is_refused,
            }
            retention {
                messages_go_so_long_after_they_were_handled,
                bytes_are_those_of_the_bodies,
                sessions_go_so_long_after_their_last_activity,
                sessions_that_somebody_needs_are_kept,
                a_stem_goes_once_its_forks_have_gone,
                runs_go_with_their_sessions,
                what_sessions_leave_behind_goes_with_them,
                changes_go_so_long_after_they_happened,
                who_missed_changes_that_are_gone_is_told_and_nobody_else,
                one_note_tells_of_all_changes_that_went,
                the_note_moves_with_every_step_that_removes_changes,
                the_feed_ends_where_it_did_when_all_changes_went,
                rules_that_say_nothing_keep_everything,
                a_plan_changes_nothing,
                a_step_removes_no_more_than_it_may_and_the_receipt_goes_on,
                a_step_that_finds_nothing_leaves_a_closed_receipt,
                receipts_are_listed_newest_first_and_what_the_host_removed_is_added,
                a_clock_that_went_back_removes_nothing_young,
                space_is_given_back_until_there_is_none,
                racing_steps_remove_each_thing_once,
            }
            run {
                a_run_is_queued_as_pending_and_keeps_what_it_was_given,
                a_run_of_which_little_is_said_has_the_plain_values,
                a_session_with_a_live_run_takes_no_other,
                a_session_is_started_once_and_resumed_when_it_is_not_at_work,
                a_run_may_bring_its_session,
                a_taken_run_id_is_a_conflict_that_changes_nothing,
                a_resume_demands_the_host_and_profile_of_before,
                the_parent_of_a_run_is_the_given_one_else_the_sessions,
                bad_runs_are_refused_and_nothing_is_written,
                runs_of_nothing_are_not_found,
                runs_are_paged_newest_first_each_once,
                the_largest_runs_are_kept_and_listed_each_once,
                runs_are_filtered_by_status_session_and_executor,
                a_sessions_runs_are_in_the_order_of_the_queue,
                a_run_that_ended_elsewhere_is_restored_once,
                a_run_that_is_live_or_of_no_session_is_not_restored,
                a_session_whose_run_somebody_holds_is_not_deleted,
                of_a_deletion_racing_with_a_claim_one_is_first,
            }
            run_claim {
                the_run_that_waits_longest_is_claimed_first,
                a_claim_is_no_activity_of_the_session_and_survives_reopening,
                only_runs_whose_demands_are_met_are_claimed,
                a_run_that_does_not_fit_holds_up_nobody_and_keeps_its_place,
                a_renewal_keeps_the_lease_from_now_on,
                leases_that_are_too_short_or_too_long_are_refused,
                a_holder_with_an_older_epoch_moves_nothing,
                a_run_that_nobody_holds_has_no_lease,
                claiming_does_not_sweep,
                of_racing_claims_each_run_goes_to_one,
                of_racing_holders_and_sweeps_one_epoch_moves_the_run,
                of_racing_creations_of_one_sessions_run_one_wins,
                a_queue_that_is_filled_while_it_is_emptied_loses_nothing,
            }
            run_report {
                a_start_moves_run_and_session_once,
                a_run_that_starts_after_it_was_asked_to_stop_stays_asked,
                an_update_changes_what_is_given_and_nothing_else,
                an_update_of_nothing_or_with_bad_parts_is_refused,
                binding_starts_the_run_and_says_where,
                the_holder_appends_to_its_session,
                each_end_moves_run_and_session,
                an_end_may_be_said_twice_but_not_otherwise,
                a_run_that_completed_had_begun_though_nobody_said_so,
                bad_ends_are_refused_and_change_nothing,
                a_resume_brings_a_session_back_as_it_was,
                a_session_that_ended_by_anothers_word_stays_so,
                a_session_may_run_by_itself_and_through_runs,
                of_racing_ends_one_wins,
            }
            run_stop {
                a_session_that_is_ended_by_somebody_is_not_executed,
                a_run_that_nobody_has_ends_at_once,
                the_holder_of_a_claim_is_asked_and_its_session_waits,
                a_run_at_work_is_stopping_until_its_end_is_reported,
                asking_again_is_no_change,
                what_has_ended_is_not_stopped,
                a_session_without_a_run_is_stopped_by_where_it_stands,
                stopping_an_idle_session_with_a_resume_in_the_queue_ends_both,
                a_session_that_ended_keeps_its_end_when_its_resume_is_stopped,
                a_run_that_was_asked_to_stop_may_end_as_it_likes,
                a_stop_is_handed_out_once_and_again_after_a_while,
                each_executor_gets_its_own_orders,
                of_racing_askers_for_orders_one_gets_each,
                of_a_stop_racing_with_a_claim_one_is_first,
            }
            run_sweep {
                a_sweep_with_nothing_due_changes_nothing,
                a_claim_that_is_over_goes_back_to_its_old_place,
                a_run_lost_at_work_has_failed,
                a_run_that_may_be_requeued_is_when_it_is_lost_at_work,
                a_run_lost_too_often_fails_for_good,
                a_run_that_nobody_took_in_time_has_failed,
                a_claim_ends_the_wait_and_a_lost_one_waits_its_whole_time_again,
                a_resume_that_nobody_took_leaves_the_session_as_it_ended,
                a_run_lost_while_it_stops_is_stopped,
                a_lease_that_is_over_is_good_until_it_is_swept,
                a_clock_that_goes_back_ends_no_lease,
                what_is_due_survives_reopening,
                a_sweep_is_bounded_and_goes_on_where_it_ended,
                racing_sweeps_do_everything_once,
            }
            runtime {
                a_runtime_keeps_its_number_and_its_metadata_until_other_is_given,
                runtimes_differ_by_type_and_path_and_are_paged_by_number,
                creating_a_session_registers_its_runtime_and_leaves_its_metadata,
                only_a_container_has_a_path,
            }
            search { what_was_deleted_is_never_found, what_retention_removed_is_never_found,
                hits_are_paged_from_the_newest_on_each_once, the_index_is_filled_in_bounded_steps,
                an_event_is_found_by_its_words_once_it_is_in_the_index,
                words_phrases_prefixes_and_what_is_unwanted_find_the_same_everywhere,
                tools_and_answers_are_found_and_thoughts_are_not,
                each_filter_of_a_search_alone_and_together_finds_what_matches,
                a_search_that_finds_little_goes_on_from_its_cursor,
                a_cleared_index_finds_nothing_until_it_was_filled_anew,
                racing_upkeep_beside_appends_and_deletions_misses_nothing, }
            session {
                a_session_is_kept_with_all_it_was_given,
                an_empty_text_is_not_an_absent_one,
                minted_ids_sort_by_creation_even_when_the_clock_goes_back,
                a_taken_id_or_origin_is_a_conflict_that_changes_nothing,
                a_session_is_found_by_its_origin,
                an_unknown_parent_is_not_found_and_nothing_is_registered,
                bad_sessions_are_refused_and_nothing_is_written,
                an_unknown_session_is_not_found_by_any_verb,
                ids_are_found_by_their_beginning_at_most_two,
                a_status_moves_only_along_its_rules,
                an_end_keeps_its_time_code_signal_and_reason,
                a_bad_change_of_status_is_refused,
                renaming_and_pinning_change_nothing_else,
            }
            session_list {
                sessions_are_listed_by_last_activity_newest_first,
                sessions_are_paged_each_once_even_with_equal_times,
                a_cursor_of_another_list_is_invalid,
                a_page_after_a_session_that_is_gone_goes_on_behind_it,
                each_filter_alone_lists_what_matches,
                filters_together_list_what_passes_all_and_page_too,
                a_filter_with_a_nul_byte_matches_nothing,
            }
            spending {
                tokens_count_once_by_day_and_model,
                every_kind_of_token_is_summed_and_stops_at_the_largest_number,
                costs_that_were_told_stand_apart,
                the_label_of_a_session_names_the_model_of_events_that_name_none,
                a_list_is_narrowed_and_paged_each_once,
                what_a_session_spent_goes_with_it,
                a_removal_that_is_under_way_takes_no_sum,
                totals_that_an_import_sets_are_on_the_day_of_the_last_activity,
            }
            task {
                a_task_makes_a_session_and_a_pending_run_per_agent_and_instance,
                a_task_shows_the_status_its_session_has_now,
                tasks_are_paged_newest_first_each_once,
                tasks_are_filtered_by_batch_and_by_session,
                a_task_is_found_by_its_number_or_not_at_all,
                the_largest_task_is_kept_whole,
                bad_tasks_are_refused_and_nothing_of_them_is_kept,
            }
            token {
                a_token_is_kept_with_its_hash,
                a_taken_token_id_is_a_conflict_that_changes_nothing,
                bad_tokens_are_refused_and_nothing_is_written,
                tokens_are_paged_by_id_each_once,
                a_revoked_token_stays_listed_and_keeps_when,
                uses_are_noted_now_and_then,
                an_unknown_token_is_not_found_by_any_verb,
                of_racing_tokens_of_one_id_one_wins,
            }
            walk {
                a_walk_of_seed_1_agrees_with_the_oracle,
                a_walk_of_seed_2_agrees_with_the_oracle,
                a_walk_of_seed_3_agrees_with_the_oracle,
                a_walk_of_runs_of_seed_4_agrees_with_the_oracle,
                a_walk_of_runs_of_seed_5_agrees_with_the_oracle,
                a_walk_of_runs_of_seed_6_agrees_with_the_oracle,
                a_walk_of_the_hive_of_seed_7_agrees_with_the_oracle,
                a_walk_of_the_hive_of_seed_8_agrees_with_the_oracle,
                a_walk_of_the_hive_of_seed_9_agrees_with_the_oracle,
                a_walk_of_fleets_of_seed_10_agrees_with_the_oracle,
                a_walk_of_fleets_of_seed_11_agrees_with_the_oracle,
                a_walk_of_search_of_seed_12_agrees_with_the_oracle,
            }
            watch {
                a_watch_gives_what_is_stored_after_its_cursor,
                a_watch_at_the_end_goes_on_with_what_is_appended_later,
                a_waiting_watch_is_woken_by_an_append_to_its_session_only,
                a_slow_watch_loses_nothing,
                a_watch_reads_while_others_append,
                a_watch_ends_with_its_session,
            }
            workspace {
                workspaces_are_kept_by_name_or_refused_as_unsupported,
                workspaces_are_paged_by_number_each_once,
                a_bad_workspace_name_is_refused,
                a_session_and_a_task_take_a_known_workspace_only,
                a_session_with_a_bad_workspace_name_is_invalid_on_every_store,
            }
        }
    };
}

/// Stamps the tests of a list; [`conformance!`] has the list.
#[doc(hidden)]
#[macro_export]
macro_rules! stamp {
    ($make:path; $($noun:ident { $($behaviour:ident,)+ })+) => {
        fn fresh_harness() -> impl $crate::Harness {
            $make()
        }

        $(mod $noun {
            $(#[test]
            fn $behaviour() {
                let mut harness = super::fresh_harness();
                $crate::block_on($crate::$noun::$behaviour(&mut harness));
            })+
        })+
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    /// The words between `noun {` and `}` in the list above.
    fn listed(noun: &str) -> BTreeSet<String> {
        let list = include_str!("behaviours.rs");
        let Some((_, rest)) = list.split_once(&format!("\n            {noun} {{")) else {
            return BTreeSet::new();
        };
        let (names, _) = rest.split_once('}').unwrap();
        let names = names.split(',').map(|name| name.trim().to_owned());
        names.filter(|name| !name.is_empty()).collect()
    }

    #[test]
    fn every_behaviour_is_in_the_list() {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = 0;
        for entry in fs::read_dir(src).unwrap() {
            let path = entry.unwrap().path();
            let noun = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() || noun == "behaviours" {
                continue;
            }
            let source = fs::read_to_string(&path).unwrap();
            let names = source.split("\npub async fn ").skip(1);
            let names = names.map(|rest| rest.split_once('(').unwrap().0.to_owned());
            // A walk itself takes a seed; its behaviours give it one.
            let names: BTreeSet<_> = names.filter(|name| !name.starts_with("walk")).collect();
            found += names.len();
            assert_eq!(names, listed(&noun), "the list of {noun}");
        }
        assert!(found > 100, "only {found} behaviours were found");
    }
}
