CREATE TABLE "status_days" (
	"tag_id" bigint NOT NULL,
	"day" date NOT NULL,
	"requests" bigint DEFAULT 0 NOT NULL,
	"failures" bigint DEFAULT 0 NOT NULL,
	"up_ms" bigint DEFAULT 0 NOT NULL,
	"down_ms" bigint DEFAULT 0 NOT NULL,
	"hibernated_ms" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "status_days_tag_id_day_pk" PRIMARY KEY("tag_id","day")
);
--> statement-breakpoint
CREATE TABLE "status_held_slugs" (
	"slug" text PRIMARY KEY NOT NULL,
	"org_id" bigint,
	"until" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "status_incidents" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"org_id" bigint NOT NULL,
	"title" text NOT NULL,
	"impact" text NOT NULL,
	"tags" jsonb NOT NULL,
	"alert_id" bigint,
	"started_at" timestamp with time zone NOT NULL,
	"resolved_at" timestamp with time zone,
	"removed_at" timestamp with time zone,
	"follows_alert" boolean DEFAULT true NOT NULL,
	CONSTRAINT "status_incidents_impact_check" CHECK ("status_incidents"."impact" in ('DEGRADED', 'OUTAGE'))
);
--> statement-breakpoint
CREATE TABLE "status_pages" (
	"org_id" bigint PRIMARY KEY NOT NULL,
	"is_enabled" boolean NOT NULL,
	"title" text NOT NULL,
	"slug" text NOT NULL,
	"alert_kinds" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "status_tags" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "status_tags_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"org_id" bigint NOT NULL,
	"squid_name" text NOT NULL,
	"tag" text NOT NULL,
	"name" text NOT NULL,
	"position" integer NOT NULL,
	"added_at" timestamp with time zone NOT NULL,
	"measured_until" timestamp with time zone NOT NULL,
	"counted_until" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "status_updates" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "status_updates_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"incident_id" uuid NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"state" text NOT NULL,
	"text" text NOT NULL,
	CONSTRAINT "status_updates_state_check" CHECK ("status_updates"."state" in ('INVESTIGATING', 'IDENTIFIED', 'MONITORING', 'RESOLVED'))
);
--> statement-breakpoint
ALTER TABLE "ingress_minutes" ADD COLUMN "failures" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "status_days" ADD CONSTRAINT "status_days_tag_id_status_tags_id_fk" FOREIGN KEY ("tag_id") REFERENCES "public"."status_tags"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "status_held_slugs" ADD CONSTRAINT "status_held_slugs_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "status_incidents" ADD CONSTRAINT "status_incidents_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "status_pages" ADD CONSTRAINT "status_pages_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "status_tags" ADD CONSTRAINT "status_tags_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "status_updates" ADD CONSTRAINT "status_updates_incident_id_status_incidents_id_fk" FOREIGN KEY ("incident_id") REFERENCES "public"."status_incidents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "status_days_day" ON "status_days" USING btree ("day");--> statement-breakpoint
CREATE INDEX "status_held_slugs_org" ON "status_held_slugs" USING btree ("org_id");--> statement-breakpoint
CREATE INDEX "status_held_slugs_until" ON "status_held_slugs" USING btree ("until");--> statement-breakpoint
CREATE INDEX "status_incidents_org" ON "status_incidents" USING btree ("org_id","started_at");--> statement-breakpoint
CREATE UNIQUE INDEX "status_incidents_alert" ON "status_incidents" USING btree ("alert_id");--> statement-breakpoint
CREATE INDEX "status_incidents_open" ON "status_incidents" USING btree ("org_id") WHERE "status_incidents"."resolved_at" is null;--> statement-breakpoint
CREATE INDEX "status_incidents_resolved" ON "status_incidents" USING btree ("resolved_at");--> statement-breakpoint
CREATE UNIQUE INDEX "status_pages_slug" ON "status_pages" USING btree ("slug");--> statement-breakpoint
CREATE UNIQUE INDEX "status_tags_tag" ON "status_tags" USING btree ("org_id","squid_name","tag");--> statement-breakpoint
CREATE INDEX "status_updates_incident" ON "status_updates" USING btree ("incident_id","id");