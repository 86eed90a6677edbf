CREATE TABLE "chain_heads" (
	"chain" text PRIMARY KEY NOT NULL,
	"head_block" bigint NOT NULL,
	"final_block" bigint,
	"moved_at" timestamp with time zone NOT NULL,
	"pace" jsonb DEFAULT '{"moves":0,"msPerMove":0,"blocksPerMove":0}'::jsonb NOT NULL,
	"observed_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "container_states" ADD COLUMN "crashes_in_a_row" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "processor_states" ADD COLUMN "head_pace" jsonb DEFAULT '{"moves":0,"msPerMove":0,"blocksPerMove":0}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "processor_states" ADD COLUMN "chain" text;--> statement-breakpoint
ALTER TABLE "processor_states" ADD COLUMN "caught_up_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "processor_states" ADD COLUMN "follows_head" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "alert_events" DROP COLUMN "well_since";