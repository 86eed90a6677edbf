CREATE TABLE "log_org_usage" (
	"org_id" bigint PRIMARY KEY NOT NULL,
	"day" date NOT NULL,
	"bytes" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "log_drops" DROP CONSTRAINT "log_drops_exceeded_check";--> statement-breakpoint
ALTER TABLE "log_streams" ADD COLUMN "quota_reported_on" date;--> statement-breakpoint
ALTER TABLE "log_drops" ADD CONSTRAINT "log_drops_exceeded_check" CHECK ("log_drops"."exceeded" in ('bytesPerSecond', 'linesPerSecond', 'bytesPerDay', 'orgBytesPerDay')) NOT VALID;