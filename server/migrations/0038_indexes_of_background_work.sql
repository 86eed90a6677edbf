CREATE TABLE "sampler_state" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"sampled_at" timestamp with time zone NOT NULL,
	CONSTRAINT "sampler_state_one_row" CHECK ("sampler_state"."id" = 1)
);
--> statement-breakpoint
CREATE INDEX "sessions_expires" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "invoices_unpaid" ON "invoices" USING btree ("org_id") WHERE "invoices"."paid_at" is null;--> statement-breakpoint
CREATE INDEX "orgs_deleted" ON "orgs" USING btree ("id") WHERE "orgs"."deleted_at" is not null;--> statement-breakpoint
INSERT INTO "sampler_state" ("id", "sampled_at") SELECT 1, max("at") FROM "sampled_counters" HAVING max("at") IS NOT NULL;