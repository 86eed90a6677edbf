CREATE TABLE "portal_usage" (
	"dataset" text NOT NULL,
	"version" text NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	"requests" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	CONSTRAINT "portal_usage_dataset_hour_version_pk" PRIMARY KEY("dataset","hour","version")
);
--> statement-breakpoint
CREATE TABLE "rpc_tokens" (
	"org_id" bigint PRIMARY KEY NOT NULL,
	"hash" text NOT NULL,
	"sealed" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "rpc_upstream_states" (
	"chain" text NOT NULL,
	"upstream" text NOT NULL,
	"is_healthy" boolean NOT NULL,
	"is_archive" boolean NOT NULL,
	"head_block" bigint,
	"finalized_block" bigint,
	"latency_p50_ms" integer,
	"latency_p95_ms" integer,
	"reason" text,
	"observed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "rpc_upstream_states_chain_upstream_pk" PRIMARY KEY("chain","upstream")
);
--> statement-breakpoint
CREATE TABLE "rpc_usage" (
	"org_id" bigint NOT NULL,
	"chain" text NOT NULL,
	"method" text NOT NULL,
	"version" text NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	"requests" bigint NOT NULL,
	"failures" bigint NOT NULL,
	CONSTRAINT "rpc_usage_org_id_hour_chain_method_version_pk" PRIMARY KEY("org_id","hour","chain","method","version")
);
--> statement-breakpoint
ALTER TABLE "rpc_tokens" ADD CONSTRAINT "rpc_tokens_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "rpc_usage" ADD CONSTRAINT "rpc_usage_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "portal_usage_hour" ON "portal_usage" USING btree ("hour");--> statement-breakpoint
CREATE UNIQUE INDEX "rpc_tokens_hash" ON "rpc_tokens" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "rpc_usage_hour" ON "rpc_usage" USING btree ("hour");