CREATE TABLE "squid_domains" (
	"org_id" bigint NOT NULL,
	"name" text NOT NULL,
	"squid_name" text NOT NULL,
	"tag" text NOT NULL,
	"proof" text NOT NULL,
	"is_active" boolean DEFAULT false NOT NULL,
	"problem" text,
	"proven_at" timestamp with time zone,
	"checked_at" timestamp with time zone,
	"next_check_at" timestamp with time zone NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "squid_domains_org_id_name_pk" PRIMARY KEY("org_id","name")
);
--> statement-breakpoint
ALTER TABLE "squid_domains" ADD CONSTRAINT "squid_domains_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "squid_domains_active" ON "squid_domains" USING btree ("name") WHERE is_active;--> statement-breakpoint
CREATE INDEX "squid_domains_next_check" ON "squid_domains" USING btree ("next_check_at");