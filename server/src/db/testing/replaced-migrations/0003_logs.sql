-- Where the reader of the driver's logs is: one row a log of the driver, moved in the transaction that writes its lines.
create table log_cursors (
  source text primary key,
  position text not null
);
--> statement-breakpoint
-- One row a version that ever logged. Lines up to indexed_seq are in blocks, those after it are searched one by one.
create table log_streams (
  squid_id bigint primary key,
  last_seq bigint not null,
  indexed_seq bigint not null
);
--> statement-breakpoint
-- seq counts up by one within a version, in the order of arrival. Partitions are days of `at` in UTC, made and dropped by the worker.
create table log_lines (
  squid_id bigint not null,
  seq bigint not null,
  at timestamptz not null,
  level smallint not null,
  container text not null,
  ns text,
  message text not null,
  fields text
) partition by range (at);
--> statement-breakpoint
create index log_lines_squid_seq on log_lines (squid_id, seq);
--> statement-breakpoint
-- What stands in a run of about a thousand lines, so that a search need not look at lines that cannot match.
create table log_blocks (
  squid_id bigint not null,
  first_seq bigint not null,
  last_seq bigint not null,
  min_at timestamptz not null,
  max_at timestamptz not null,
  -- Bit n: a line of the level with number n is in it.
  level_mask smallint not null,
  containers text[] not null,
  -- Bloom filter over short pieces of the text; its size is a power of two.
  bloom bytea not null,
  primary key (squid_id, first_seq)
);
--> statement-breakpoint
-- Kept outside of the row and uncompressed: a search reads single bytes of it.
alter table log_blocks alter column bloom set storage external;
