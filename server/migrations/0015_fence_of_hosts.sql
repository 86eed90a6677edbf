ALTER TABLE "runtime_claim" ADD COLUMN "fenced_at" timestamp with time zone;
--> statement-breakpoint
-- No other host ran the squids of an installation that has a claim already.
UPDATE "runtime_claim" SET "fenced_at" = now();
