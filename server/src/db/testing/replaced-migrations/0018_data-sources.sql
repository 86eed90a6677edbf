CREATE TABLE "processor_sources" (
	"squid_id" bigint NOT NULL,
	"generation" integer NOT NULL,
	"processor" text NOT NULL,
	"sentence" text NOT NULL,
	CONSTRAINT "processor_sources_squid_id_generation_processor_pk" PRIMARY KEY("squid_id","generation","processor")
);
--> statement-breakpoint
ALTER TABLE "processor_states" ADD COLUMN "answered_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "processor_states" ADD COLUMN "answer_pace" jsonb DEFAULT '{"moves":0,"msPerMove":0,"blocksPerMove":0}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "squids" ADD COLUMN "source_hosts" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "processor_sources" ADD CONSTRAINT "processor_sources_squid_id_squids_id_fk" FOREIGN KEY ("squid_id") REFERENCES "public"."squids"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
-- A version used to list every secret that its manifest names; it lists those that its programs have.
UPDATE "squids" s SET "secret_names" = coalesce((SELECT jsonb_agg(n) FROM jsonb_array_elements_text(s."secret_names") n
	WHERE EXISTS (SELECT 1 FROM "secrets" x WHERE x."org_id" = s."org_id" AND x."name" = n)), '[]'::jsonb);
