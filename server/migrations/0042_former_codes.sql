CREATE TABLE "former_codes" (
	"code" text PRIMARY KEY NOT NULL,
	"admin_ids" jsonb NOT NULL,
	"until" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "former_codes_until" ON "former_codes" USING btree ("until");