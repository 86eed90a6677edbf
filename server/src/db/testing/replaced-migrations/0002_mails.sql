CREATE TABLE "images" (
	"image" text PRIMARY KEY NOT NULL,
	"org_id" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	"built_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "installation" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"prefix" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "mails" (
	"id" uuid PRIMARY KEY NOT NULL,
	"to" text NOT NULL,
	"subject" text NOT NULL,
	"sealed_body" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "request_key" text NOT NULL;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "attempt" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "squids" ADD COLUMN "generations_used" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "squids" ADD COLUMN "secret_names" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
CREATE INDEX "images_org" ON "images" USING btree ("org_id");--> statement-breakpoint
CREATE INDEX "mails_created" ON "mails" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "deployments_request" ON "deployments" USING btree ("request_key");--> statement-breakpoint
CREATE INDEX "deployments_unfinished" ON "deployments" USING btree ("id") WHERE finished_at is null;--> statement-breakpoint
CREATE INDEX "uploads_org" ON "uploads" USING btree ("org_id","created_at");