ALTER TABLE "squid_databases" ADD COLUMN "min_connections" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "squid_databases" ADD COLUMN "max_connections" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE "squid_databases" d SET "min_connections" = 3 + 10 * s."api_replicas" + 2 * jsonb_array_length(s."processors"), "max_connections" = 30 + 10 * s."api_replicas" + 5 * jsonb_array_length(s."processors") FROM "squids" s WHERE s."id" = d."squid_id";
