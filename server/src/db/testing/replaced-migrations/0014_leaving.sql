ALTER TABLE "payment_methods" ADD COLUMN "rank" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "orgs" ADD COLUMN "settled_at" timestamp with time zone;