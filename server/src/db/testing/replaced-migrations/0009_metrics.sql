-- Requests to a version in one minute (see below); the table is not partitioned yet in what came before.
alter table ingress_minutes rename to ingress_minutes_before;
--> statement-breakpoint
alter index ingress_minutes_squid_id_minute_pk rename to ingress_minutes_before_pk;
--> statement-breakpoint
drop index ingress_minutes_minute;
--> statement-breakpoint
-- Requests to a version in one bucket of time, as the gateways counted them; several gateways add to one row. Without a foreign
-- key: they outlive the version, for what is billed and looked up later. `at` is the beginning of the bucket in UTC.
-- Minutes and hours are partitioned by day, made and dropped by the worker; hours and longer are made from what is shorter.
create table ingress_minutes (
  squid_id bigint not null,
  at timestamptz not null,
  successes bigint not null,
  errors bigint not null,
  success_bytes bigint not null,
  error_bytes bigint not null,
  -- Counts by bucket of latency, of successes only (`histogram.ts`).
  histogram bigint[] not null,
  primary key (squid_id, at)
) partition by range (at);
--> statement-breakpoint
create table ingress_hours (like ingress_minutes including all) partition by range (at);
--> statement-breakpoint
create table ingress_days (like ingress_minutes including all);
--> statement-breakpoint
create table ingress_months (like ingress_minutes including all);
--> statement-breakpoint
create index ingress_days_at on ingress_days (at);
--> statement-breakpoint
do $$
declare day date;
begin
  for day in select distinct (minute at time zone 'UTC')::date from ingress_minutes_before loop
    execute format('create table %I partition of ingress_minutes for values from (%L) to (%L)',
      'ingress_minutes_' || to_char(day, 'YYYYMMDD'), day || ' 00:00Z', (day + 1) || ' 00:00Z');
  end loop;
end $$;
--> statement-breakpoint
insert into ingress_minutes select squid_id, minute, successes, errors, success_bytes, error_bytes, histogram from ingress_minutes_before;
--> statement-breakpoint
drop table ingress_minutes_before;
--> statement-breakpoint
-- What a container of a version used, every 15 seconds; the database of a version counts as its container `db`. Generations of a
-- version that run side by side are added up. Null: not known, which is never the same as zero.
create table container_samples (
  squid_id bigint not null,
  at timestamptz not null,
  container text not null,
  -- How much time the sums of this row cover; 0 for the first sample after a gap.
  observed_seconds double precision not null,
  cpu_seconds double precision,
  -- Cores allowed × seconds.
  cpu_limit_seconds double precision,
  throttled_seconds double precision,
  -- Bytes × seconds: over observed_seconds it is the mean.
  memory_byte_seconds double precision,
  memory_peak_bytes bigint,
  memory_limit_bytes bigint,
  oom_kills bigint not null,
  crashes bigint not null,
  disk_used_bytes bigint,
  disk_total_bytes bigint,
  -- How far a processor came; what follows is what it last said itself.
  blocks bigint,
  last_block bigint,
  chain_height bigint,
  sync_ratio double precision,
  eta_seconds double precision,
  blocks_per_second double precision,
  rpc_requests bigint,
  rpc_failures bigint,
  primary key (squid_id, at, container)
) partition by range (at);
--> statement-breakpoint
create table container_minutes (like container_samples including all) partition by range (at);
--> statement-breakpoint
create table container_hours (like container_samples including all) partition by range (at);
--> statement-breakpoint
create table container_days (like container_samples including all);
--> statement-breakpoint
create table container_months (like container_samples including all);
--> statement-breakpoint
create index container_days_at on container_days (at);
--> statement-breakpoint
-- The counters of every container when it was last sampled, moved in the transaction that writes its sample: whatever happens to
-- the worker, what was counted once is not counted again.
create table sampled_counters (
  squid_id bigint not null,
  generation integer not null,
  container text not null,
  at timestamptz not null,
  cpu_seconds double precision,
  throttled_seconds double precision,
  oom_kills bigint not null,
  crashes bigint not null,
  last_block bigint,
  rpc_requests bigint,
  rpc_failures bigint,
  primary key (squid_id, generation, container)
);
--> statement-breakpoint
-- Up to where hours, days and months are made. It goes back when a gateway brings counts of an earlier time.
create table metric_rollups (
  family text primary key,
  rolled_until timestamptz not null
);
--> statement-breakpoint
ALTER TABLE "processor_states" ADD COLUMN "sync_ratio" double precision;--> statement-breakpoint
ALTER TABLE "processor_states" ADD COLUMN "rpc_requests" bigint;--> statement-breakpoint
ALTER TABLE "processor_states" ADD COLUMN "rpc_failures" bigint;
