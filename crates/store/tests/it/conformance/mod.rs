//! What every backend of the store must do. The bodies know the trait only; a new backend is one more `conforms!` below.

mod batches;
mod denials;
mod items;
mod log;
mod pages;
mod people;
mod quorum;

/// Runs every body over a backend. `$world` makes a fresh one: anything with a field `store`. A body that is not listed
/// here is dead code, and says so.
macro_rules! conforms {
    ($backend:ident, $world:expr) => {
        mod $backend {
            conforms! { @ $world,
                batches::an_approval_settles_after_its_window_and_releases_the_proof,
                batches::a_batch_is_all_or_nothing,
                batches::what_is_past_its_time_cannot_be_sealed_even_before_it_is_swept,
                batches::the_same_payload_again_is_the_same_batch,
                batches::a_used_payload_takes_no_other_entries,
                batches::an_undone_batch_gives_its_items_back_and_stays_undone,
                batches::a_settled_batch_cannot_be_undone,
                batches::without_an_undo_window_it_is_released_at_once,
                batches::a_not_before_ahead_is_waited_for_even_without_an_undo_window,
                batches::a_pause_holds_every_release,
                batches::an_approval_that_expired_in_a_pause_is_not_released,
                batches::a_batch_over_two_machines_tells_each_of_its_own_items_only,
                batches::many_entries_settle_together,
                quorum::a_quorum_collects_and_then_waits_its_window_from_the_last_signature,
                quorum::two_keys_of_one_person_are_one_person,
                quorum::the_same_key_twice_changes_nothing,
                quorum::a_batch_that_does_not_collect_takes_no_signature,
                quorum::a_collecting_batch_whose_payload_expired_gives_its_items_back,
                quorum::a_quorum_without_an_undo_window_is_released_with_the_last_signature,
                items::the_same_ask_again_changes_nothing,
                items::other_content_or_another_owner_under_an_id_conflicts,
                items::caps_hold_at_their_number_and_answering_makes_room,
                items::the_asker_closes_its_item_once,
                items::nobody_closes_what_another_asked,
                items::an_item_that_is_closed_leaves_its_batch,
                items::a_batch_that_has_lost_its_last_item_is_over,
                items::what_nobody_answered_expires_at_its_time,
                items::what_is_settling_does_not_expire,
                items::every_kind_and_every_letter_comes_back_as_it_was,
                denials::a_denied_asker_reads_channel_reason_and_proof,
                denials::each_channel_reaches_whom_its_row_says,
                denials::a_denial_is_all_or_nothing,
                denials::the_same_denial_again_changes_nothing,
                denials::one_no_ends_what_others_were_signing,
                denials::what_is_sealed_already_cannot_be_denied,
                denials::a_pinned_message_stays_until_it_expires_or_is_revoked,
                people::a_token_is_found_by_its_hash_until_another_takes_its_name,
                people::a_name_has_one_live_token,
                people::last_seen_is_noted_at_most_once_a_minute,
                people::a_browser_session_lives_until_it_ends_or_expires,
                people::a_trust_proof_is_taken_once_and_listed_in_order,
                people::a_pause_is_one_however_often_it_is_pressed,
                log::a_machine_reads_its_own_events_only,
                log::events_are_read_by_kind_and_in_pages,
                log::the_story_of_an_item_is_its_events_in_order,
                log::the_head_is_the_last_line,
                log::bare_events_reach_their_audience,
                pages::the_inbox_pages_through_everything_once_oldest_first,
                pages::equal_asks_of_a_session_are_one_row,
                pages::what_differs_in_anything_shown_is_a_row_of_its_own,
                pages::twins_on_their_way_in_different_batches_stand_apart,
                pages::history_pages_through_every_answer_newest_first,
                pages::history_is_searched_as_people_read_it,
                pages::the_day_is_counted_by_how_things_ended,
            }
        }
    };
    (@ $world:expr, $($topic:ident::$body:ident,)*) => {
        $(
            #[tokio::test]
            async fn $body() {
                let world = $world.await;
                super::$topic::$body(&world.store).await;
                assert_eq!(crate::world::verified(&world.store).await.failure, None);
            }
        )*
    };
}

conforms!(sqlite, crate::world::World::new());
