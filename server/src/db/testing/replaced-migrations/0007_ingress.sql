CREATE TABLE "ingress_minutes" (
	"squid_id" bigint NOT NULL,
	"minute" timestamp with time zone NOT NULL,
	"successes" bigint NOT NULL,
	"errors" bigint NOT NULL,
	"success_bytes" bigint NOT NULL,
	"error_bytes" bigint NOT NULL,
	"histogram" bigint[] NOT NULL,
	CONSTRAINT "ingress_minutes_squid_id_minute_pk" PRIMARY KEY("squid_id","minute")
);
--> statement-breakpoint
CREATE INDEX "ingress_minutes_minute" ON "ingress_minutes" USING btree ("minute");