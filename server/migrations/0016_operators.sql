CREATE TABLE "maintenances" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"message" text NOT NULL,
	"starts_at" timestamp with time zone NOT NULL,
	"ends_at" timestamp with time zone NOT NULL,
	"announced_at" timestamp with time zone NOT NULL,
	CONSTRAINT "maintenances_one_row" CHECK ("maintenances"."id" = 1)
);
--> statement-breakpoint
ALTER TABLE "billing_hibernations" DROP CONSTRAINT "billing_hibernations_reason_check";--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "password_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "support_org_id" bigint;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "support_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "is_operator" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "disabled_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "orgs" ADD COLUMN "suspended_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "orgs" ADD COLUMN "suspension_reason" text;--> statement-breakpoint
ALTER TABLE "billing_hibernations" ADD CONSTRAINT "billing_hibernations_reason_check" CHECK ("billing_hibernations"."reason" in ('debt', 'cap', 'suspension')) NOT VALID;