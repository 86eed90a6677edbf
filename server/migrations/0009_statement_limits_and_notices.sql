CREATE TABLE "squid_notices" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "squid_notices_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"squid_id" bigint NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"container" text NOT NULL,
	"message" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "squid_databases" ADD COLUMN "statement_ms" bigint;--> statement-breakpoint
ALTER TABLE "squid_databases" ADD COLUMN "idle_in_transaction_ms" bigint;--> statement-breakpoint
ALTER TABLE "squid_notices" ADD CONSTRAINT "squid_notices_squid_id_squids_id_fk" FOREIGN KEY ("squid_id") REFERENCES "public"."squids"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "squid_notices_squid" ON "squid_notices" USING btree ("squid_id");