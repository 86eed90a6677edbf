CREATE TABLE "container_runs" (
	"squid_id" bigint NOT NULL,
	"generation" integer NOT NULL,
	"container" text NOT NULL,
	"run" text NOT NULL,
	"ordinal" integer NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	"exit_code" integer,
	"how" text,
	"oom_kills" integer,
	CONSTRAINT "container_runs_squid_id_generation_container_run_pk" PRIMARY KEY("squid_id","generation","container","run")
);
--> statement-breakpoint
ALTER TABLE "container_states" ADD COLUMN "run" text;--> statement-breakpoint
ALTER TABLE "container_states" ADD COLUMN "run_ordinal" integer;--> statement-breakpoint
ALTER TABLE "container_states" ADD COLUMN "run_end" text;--> statement-breakpoint
ALTER TABLE "container_runs" ADD CONSTRAINT "container_runs_squid_id_squids_id_fk" FOREIGN KEY ("squid_id") REFERENCES "public"."squids"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
-- Of which run the counters are; null where a release wrote them that did not know runs.
ALTER TABLE sampled_counters ADD COLUMN run text;
