CREATE TABLE "squid_logins" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "squid_logins_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"squid_id" bigint NOT NULL,
	"workload" text NOT NULL,
	"container" text NOT NULL,
	"sealed_password" text NOT NULL,
	"closed_at" timestamp with time zone
);
--> statement-breakpoint
ALTER TABLE "squid_logins" ADD CONSTRAINT "squid_logins_squid_id_squid_databases_squid_id_fk" FOREIGN KEY ("squid_id") REFERENCES "public"."squid_databases"("squid_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "squid_logins_squid" ON "squid_logins" USING btree ("squid_id");