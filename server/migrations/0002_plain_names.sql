ALTER TABLE "squids" RENAME COLUMN "wanted" TO "desired_state";--> statement-breakpoint
ALTER TABLE "squids" RENAME CONSTRAINT "squids_wanted_check" TO "squids_desired_state_check";--> statement-breakpoint
ALTER TABLE "payment_methods" RENAME COLUMN "shown" TO "details";--> statement-breakpoint
ALTER TABLE "meter_state" RENAME COLUMN "last_look_ms" TO "observed_at_ms";--> statement-breakpoint
ALTER TABLE "chain_heads" RENAME COLUMN "pace" TO "block_rate";--> statement-breakpoint
ALTER TABLE "processor_states" RENAME COLUMN "head_pace" TO "head_rate";--> statement-breakpoint
ALTER TABLE "processor_states" RENAME COLUMN "answer_pace" TO "response_rate";--> statement-breakpoint
ALTER TABLE "processor_states" RENAME COLUMN "still_ms" TO "stalled_ms";--> statement-breakpoint
ALTER TABLE "runtime_claim" RENAME COLUMN "place" TO "location";--> statement-breakpoint
ALTER TABLE "charges" DROP CONSTRAINT "charges_status_check";--> statement-breakpoint
UPDATE "charges" SET "status" = 'pending' WHERE "status" = 'asking';--> statement-breakpoint
ALTER TABLE "charges" ADD CONSTRAINT "charges_status_check" CHECK ("charges"."status" in ('pending', 'succeeded', 'failed'));
