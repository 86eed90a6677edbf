CREATE TABLE "log_owner" (
	"installation" text PRIMARY KEY NOT NULL,
	"id" text NOT NULL,
	"adopted_at" timestamp with time zone
);
CREATE TABLE "log_cursors" (
	"source" text PRIMARY KEY NOT NULL,
	"position" text NOT NULL
);
CREATE TABLE "log_notices" (
	"id" bigint PRIMARY KEY NOT NULL
);
CREATE TABLE "log_streams" (
	"squid_id" bigint PRIMARY KEY NOT NULL,
	"last_seq" bigint NOT NULL,
	"indexed_seq" bigint NOT NULL,
	"usage_day" date,
	"usage_bytes" bigint DEFAULT 0 NOT NULL,
	"quota_reported_on" date
);
CREATE TABLE "log_org_usage" (
	"org_id" bigint PRIMARY KEY NOT NULL,
	"day" date NOT NULL,
	"bytes" bigint NOT NULL
);
CREATE TABLE "log_drops" (
	"squid_id" bigint PRIMARY KEY NOT NULL,
	"lines" bigint NOT NULL,
	"is_estimate" boolean NOT NULL,
	"exceeded" text NOT NULL,
	"is_of_org" boolean DEFAULT false NOT NULL,
	"from_at" timestamp with time zone NOT NULL,
	"to_at" timestamp with time zone NOT NULL,
	CONSTRAINT "log_drops_exceeded_check" CHECK ("log_drops"."exceeded" in ('bytesPerSecond', 'linesPerSecond', 'bytesPerDay', 'orgBytesPerDay'))
);
CREATE TABLE "log_lines" (
	"squid_id" bigint NOT NULL,
	"seq" bigint NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"level" smallint NOT NULL,
	"container" text NOT NULL,
	"ns" text,
	"message" text NOT NULL,
	"fields" text
) PARTITION BY RANGE ("at");
CREATE INDEX "log_lines_squid_seq" ON "log_lines" USING btree ("squid_id","seq");
CREATE TABLE "log_blocks" (
	"squid_id" bigint NOT NULL,
	"first_seq" bigint NOT NULL,
	"last_seq" bigint NOT NULL,
	"min_at" timestamp with time zone NOT NULL,
	"max_at" timestamp with time zone NOT NULL,
	"level_mask" smallint NOT NULL,
	"containers" text[] NOT NULL,
	"bloom" "bytea" NOT NULL,
	CONSTRAINT "log_blocks_pkey" PRIMARY KEY("squid_id","first_seq")
);
CREATE INDEX "log_blocks_max_at" ON "log_blocks" USING btree ("max_at");
-- Kept outside of the row and uncompressed: a search reads single bytes of it.
ALTER TABLE "log_blocks" ALTER COLUMN "bloom" SET STORAGE EXTERNAL;
