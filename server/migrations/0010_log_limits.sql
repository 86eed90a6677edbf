CREATE TABLE "log_drops" (
	"squid_id" bigint PRIMARY KEY NOT NULL,
	"lines" bigint NOT NULL,
	"is_estimate" boolean NOT NULL,
	"exceeded" text NOT NULL,
	"from_at" timestamp with time zone NOT NULL,
	"to_at" timestamp with time zone NOT NULL,
	CONSTRAINT "log_drops_exceeded_check" CHECK ("log_drops"."exceeded" in ('bytesPerSecond', 'linesPerSecond', 'bytesPerDay'))
);
--> statement-breakpoint
ALTER TABLE "log_streams" ADD COLUMN "usage_day" date;--> statement-breakpoint
ALTER TABLE "log_streams" ADD COLUMN "usage_bytes" bigint DEFAULT 0 NOT NULL;