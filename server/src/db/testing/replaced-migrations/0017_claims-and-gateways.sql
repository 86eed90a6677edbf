CREATE TABLE "gateway_routes" (
	"squid_id" bigint NOT NULL,
	"gateway" text NOT NULL,
	"generation" integer NOT NULL,
	CONSTRAINT "gateway_routes_squid_id_gateway_pk" PRIMARY KEY("squid_id","gateway")
);
--> statement-breakpoint
CREATE TABLE "gateways" (
	"id" text PRIMARY KEY NOT NULL,
	"seen_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "runtime_claim" (
	"installation" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"runtime" text NOT NULL,
	"host" text NOT NULL,
	"place" text NOT NULL,
	"taken_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "gateway_routes" ADD CONSTRAINT "gateway_routes_gateway_gateways_id_fk" FOREIGN KEY ("gateway") REFERENCES "public"."gateways"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "gateway_routes_gateway" ON "gateway_routes" USING btree ("gateway");