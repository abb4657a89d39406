//! The types of records, and their keys in the order of columns.

use super::{
    RecordBody, advice, check, comparison, connection, distance, echo, estimate, exchange, finding, held,
    lab, leg, link, load, outcome, plan, program, sample, sparing, split, tune, tunnel,
};
use std::fmt;

/// A type of records: a table with its keys as columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RecordType {
    pub name: &'static str,
    keys: &'static str,
}

impl RecordType {
    /// All keys besides `type` and `schema`.
    pub fn keys(self) -> impl Iterator<Item = &'static str> {
        self.keys.split(' ')
    }

    pub fn find(name: &str) -> Option<Self> {
        TYPES.iter().copied().find(|found| found.name == name)
    }
}

impl fmt::Debug for RecordType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

macro_rules! types {
    ($($body:ty => $name:literal: $keys:literal,)*) => {
        $(impl RecordBody for $body {
            const NAME: &'static str = $name;
        })*

        pub const TYPES: &[RecordType] = &[$(RecordType { name: $name, keys: $keys }),*];
    };
}

types! {
    advice::AdviceRecord<'_> => "advice":
        "source operations replayed exchanges turns request_bytes reply_bytes rtt_ns span_ns \
         cost_per_million cost_per_month",
    advice::LevelRecord<'_> => "level":
        "level codec request_tunnel_bytes reply_tunnel_bytes compressing_ns turning_back_ns noise pays \
         break_even_bits_per_second cost_per_million cost_per_month",
    advice::PaysRecord<'_> => "pays": "level rate_bits_per_second duration_ns saved_ns fastest",
    model::CalibratedRest => "calibrated":
        "side longer_ns samples work_ns additional_ns factor factor_low factor_high refused",
    check::CheckRecord<'_> => "check":
        "operation_name budget kept not_judged allowed_turns turns link allowed_ns predicted_ns predicted_low_ns predicted_high_ns \
         transaction_name held_ns kind fingerprint count found_turns places remedy",
    check::ChangeRecord<'_> => "change":
        "operation_name turns_before turns link predicted_before_ns predicted_ns new_findings",
    comparison::ComparisonRecord<'_> => "comparison":
        "kind operation_name operations_before operations p50_before_ns p50_low_before_ns p50_high_before_ns \
         p50_ns p50_low_ns p50_high_ns turns_before turns network_before_share network_share beyond_scatter",
    connection::OpenedRecord => "opened": "connection at_ns client server",
    connection::StartedRecord<'_> => "started": "connection at_ns fingerprint request_id",
    connection::BegunRecord => "begun": "connection at_ns",
    connection::LeftRecord => "left": "connection at_ns",
    connection::ConnectionRecord<'_> => "connection":
        "id client server protocol encrypted opaque opaque_reason server_version driver settings at_ns \
         duration_ns turns exchanges statements rtt_ns client_side_rtt_ns server_side_rtt_ns rtt_source \
         ended_by client_seen server_seen client_process server_process client_process_number server_process_number \
         client_container server_container client_payload_bytes server_payload_bytes client_packets \
         server_packets client_wire_bytes server_wire_bytes retransmitted_packets client_unseen_bytes \
         server_unseen_bytes",
    distance::RowsRecord<'_> => "rows":
        "rows packets segment_bytes filler_bytes wire_bytes largest_seen_bytes own_segment_bytes corrections \
         round_trip_ns kernel_min_rtt_ns first_row_ns span_ns pauses shared_stamps rate_bits_per_second \
         samples min_ns max_ns mean_ns p50_ns p90_ns p95_ns p99_ns",
    distance::DatabaseLinkRecord<'_> => "database_link":
        "link through turns_per_call calls_in_round_trips evidence connect_ns first_call_ns calls \
         call_min_ns call_p50_ns rows rows_min_ns rows_p50_ns rows_in_round_trips client_rtt_ns failed \
         samples min_ns max_ns mean_ns p50_ns p90_ns p95_ns p99_ns",
    model::EchoOutcome => "echo":
        "request_bytes reply_bytes streams spin polled_replies duration_ns per_second samples min_ns max_ns \
         mean_ns p50_ns p90_ns p95_ns p99_ns client_processor_ns server_processor_ns other_clients \
         kernel_rtt_ns retransmitted_packets errors",
    echo::BulkRecord<'_> => "bulk":
        "direction payload_bytes duration_ns rate_bits_per_second retransmitted_packets idle_samples \
         idle_p50_ns idle_p99_ns loaded_samples loaded_p50_ns loaded_p99_ns queue_delay_ns \
         client_processor_ns server_processor_ns",
    estimate::EstimateRecord<'_> => "estimate":
        "link rtt_ns clients round_trips buffer_bytes rows_per_buffer packets payload_bytes compressed \
         duration_ns per_second network_share work_ns round_trips_ns transfer_ns waiting_ns compressing_ns",
    exchange::ExchangeRecord<'_> => "exchange":
        "connection protocol operation phase at_ns turns request_bytes reply_bytes request_messages \
         reply_messages rows executions asked client_before_ns request_ns first_byte_ns reply_ns \
         client_inside_request_ns server_ns server_min_ns server_max_ns pooler server_inside_reply_ns \
         recovery_ns client_side_rtt_ns server_side_rtt_ns transaction fingerprint not_seen lost error literal \
         assigned probability tags steps levels",
    finding::FindingRecord<'_> => "finding":
        "kind fingerprint operation_name operations count turns saves_turns saves_turns_most rtt_ns saves_ns \
         saves_low_ns saves_high_ns remedied_ns remedied_low_ns remedied_high_ns owners_likely_right \
         owners_unrated may_be_others dependent driver remedy",
    model::HeldTransactions => "held":
        "transaction_name operation_name count writing writes turns most_turns turns_after_write held_ns \
         rows_held_ns client_ns server_ns server_min_ns server_max_ns pooler_ns network_ns round_trip_ns \
         transfer_ns recovery_ns unknown_ns samples min_ns max_ns mean_ns p50_ns p90_ns p95_ns p99_ns",
    held::HeldPredictionRecord<'_> => "held_prediction":
        "transaction_name operation_name replays rtt_ns rate_bits_per_second request_rate_bits_per_second \
         link held_ns rows_held_ns longest_ns",
    lab::PointRecord<'_> => "point":
        "point settings measured_ns measured_operations measured_errors measured_min_ns measured_max_ns \
         measured_per_second compared_with_point times times_least times_most",
    lab::RoundRecord<'_> => "round":
        "point round operations errors elapsed_ns per_second p50_ns mean_ns p90_ns p95_ns p99_ns min_ns \
         max_ns client_payload_bytes server_payload_bytes client_wire_bytes server_wire_bytes \
         clients_processor_ns services",
    lab::SlopeRecord<'_> => "slope": "link_name settings points measured_turns predicted_turns counted_turns",
    lab::LabRecord<'_> => "lab":
        "name operation_name points measured_points predicted_points points_within_bounds median_error_share \
         worst_error_share worst_point drift_least_share drift_most_share floor_ns",
    leg::LegRecord<'_> => "leg":
        "number target name phase at_ns duration_ns turns client_payload_bytes server_payload_bytes remedy \
         saves_turns",
    sparing::SparedRecord<'_> => "spared":
        "spared operation_name executions removable_executions spared_executions refusal operations \
         operations_spared operations_mixed p50_ns p50_spared_ns saves_ns saves_low_ns saves_high_ns \
         round_trips_spared exceeds_delay finding promised_ns",
    link::LinkRecord<'_> => "link":
        "name asked rtt_ns rtt_error_p50_ns rtt_error_p99_ns floor_ns client_packets server_packets \
         client_wire_bytes server_wire_bytes client_dropped_by_queue server_dropped_by_queue \
         client_dropped_by_loss server_dropped_by_loss client_dropped_by_outage server_dropped_by_outage \
         client_dropped_unasked server_dropped_unasked client_rate_bits_per_second \
         server_rate_bits_per_second client_realised_bits_per_second server_realised_bits_per_second point",
    load::IntervalRecord<'_> => "interval":
        "elapsed_ns duration_ns operations errors per_second mean_ns mdev_ns lag_ns",
    crate::outcome::LoadScript => "script":
        "name weight samples min_ns max_ns mean_ns p50_ns p90_ns p95_ns p99_ns",
    crate::outcome::LoadFailure => "failure": "text count",
    load::LoadRecord<'_> => "load":
        "target scripts scale query_mode reconnect clients threads connecting_ns asked_per_second \
         lag_mean_ns lag_max_ns not_begun processor_user_ns processor_system_ns",
    model::Conditions => "conditions":
        "version command_line host kernel clock observation_point link spared seed calibration generated",
    model::Warning => "warning": "kind text",
    outcome::StatementRecord<'_> => "statement":
        "fingerprint calls turns fetches fetch_rows fetch_bytes rows request_bytes reply_bytes errors \
         total_ns server_ns network_ns server_min_ns server_max_ns samples min_ns max_ns mean_ns p50_ns \
         p90_ns p95_ns p99_ns text_source",
    model::RecognisedStatement => "recognised": "fingerprint text text_source",
    outcome::OperationRecord<'_> => "operation":
        "id kind operation_name at_ns duration_ns turns exchanges connections client_ns server_ns \
         server_min_ns server_max_ns pooler_ns network_ns round_trip_ns transfer_ns recovery_ns unknown_ns \
         setup_ns client_after_ns continues evidence",
    outcome::PredictionRecord<'_> => "prediction":
        "operation_name operations warming_up_operations rtt_ns rate_bits_per_second \
         request_rate_bits_per_second link clients workers duration_ns low_ns high_ns no_duration replayed_ns bounds_class bounds_cells bounds_inside_percent \
         unscaled_low_ns unscaled_high_ns per_second turns slope order order_operations order_seen_at_once bound_by \
         unexplained_ns unexplained_share client_ns server_ns pooler_ns network_ns round_trip_ns transfer_ns recovery_ns unknown_ns samples min_ns max_ns mean_ns p50_ns \
         p90_ns p95_ns p99_ns measured_ns measured_operations measured_errors measured_min_ns \
         measured_max_ns measured_per_second error_share point",
    crate::outcome::NotPredicted => "not_predicted": "operation_name operations refused",
    outcome::SummaryRecord => "summary":
        "turns exchanges connections operations statements client_payload_bytes server_payload_bytes \
         duration_ns client_ns server_ns server_min_ns server_max_ns pooler_ns network_ns round_trip_ns \
         transfer_ns recovery_ns unknown_ns setup_ns assigned evidence samples min_ns max_ns mean_ns p50_ns \
         p90_ns p95_ns p99_ns packets dropped_exchanges sent answered lost errors per_second mdev_ns \
         floor_ns",
    plan::PlacementRecord<'_> => "placement": "placement moved keeps_budgets gigabytes_a_month price_a_month",
    plan::PlacedOperationRecord<'_> => "placed_operation":
        "placement operation_name operations predicted_ns predicted_low_ns predicted_high_ns p95_ns per_second",
    plan::PlacedTransactionRecord<'_> => "placed_transaction":
        "placement transaction_name operation_name held_ns",
    plan::BrokenBudgetRecord<'_> => "broken_budget": "placement operation_name budget allowed_ns found_ns",
    model::HeldBack => "held_back":
        "service place operation_name budget allowed_ns found_ns price_change fixed_ns may_move",
    plan::HoldingStatementRecord<'_> => "holding_statement": "service place fingerprint from to turns share",
    plan::PlanFixRecord<'_> => "plan_fix": "service place kind fingerprint saves_ns remedy",
    model::PlanMove => "plan_move": "service from to price_a_month",
    plan::PlanRecord<'_> => "plan":
        "currency today cheapest predicted_placements possible_placements price_at_least order_found",
    program::ProgramRecord<'_> => "program":
        "setting link runs failed p50_ns min_ns max_ns connected_ns connections turns client_payload_bytes \
         server_payload_bytes client_packets server_packets mean_packet_bytes client_memory_bytes",
    model::ProgramBest => "program_best": "link setting p50_ns best_ns worst_setting worst_ns told_apart",
    program::UnchangedRecord<'_> => "program_unchanged": "settings",
    sample::SampleRecord<'_> => "sample":
        "number target at_ns intended_at_ns duration_ns server_ns round_trip_ns first turns kernel_rtt_ns \
         error",
    model::Intermediary => "intermediary": "target near_rtt_ns round_trip_ns server_reported",
    split::SplitRecord<'_> => "split":
        "clients rounds operations errors per_second turns request_bytes reply_bytes round_trip_source \
         rtt_ns rtt_low_ns rtt_high_ns transaction_ns transaction_low_ns transaction_high_ns client_ns \
         client_low_ns client_high_ns network_ns network_low_ns network_high_ns server_ns server_low_ns \
         server_high_ns",
    split::ElsewhereRecord<'_> => "elsewhere":
        "place base rtt_ns clients predicted_client per_second transaction_ns low_ns high_ns \
         unscaled_low_ns unscaled_high_ns bounds_class bounds_cells bounds_inside_percent bound_by refused measured_per_second measured_ns measured_min_ns measured_max_ns error_share",
    tune::TunedRecord<'_> => "tuned":
        "job way knob unit value link source runs duration_ns min_ns max_ns rows turns client_packets \
         server_packets client_payload_bytes server_payload_bytes client_wire_bytes server_wire_bytes \
         mean_packet_bytes client_memory_bytes server_memory_bytes",
    tune::RecommendationRecord<'_> => "recommendation":
        "job link way value spelling duration_ns best_ns worst_way worst_ns worst_ratio runs full_sweep_runs \
         as_good",
    tunnel::TunnelRecord<'_> => "tunnel":
        "end duration_ns streams open_streams broken_streams refused_streams lanes lane_losses refused_peers \
         processor_ns processors",
    tunnel::TunnelDirectionRecord<'_> => "tunnel_way":
        "direction payload_bytes tunnel_bytes ratio chunks stored_chunks level_payload_bytes codec_ns stalls \
         stalled_ns reader_stalls",
    tunnel::NoticeRecord<'_> => "notice": "at_ns text",
}

impl<B: RecordBody> RecordBody for lab::OfPoint<B> {
    const NAME: &'static str = B::NAME;
}
