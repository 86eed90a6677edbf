CREATE TABLE "billing_accounts" (
	"org_id" bigint PRIMARY KEY NOT NULL,
	"customer_id" text,
	"discount_percent" numeric(5, 2) DEFAULT '0' NOT NULL,
	"spend_cap_usd" numeric(12, 2),
	"at_cap" text DEFAULT 'stop_deploys' NOT NULL,
	"hibernate_order" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"rpc_requests_cap" bigint,
	"warned_percent" integer DEFAULT 0 NOT NULL,
	"warned_month" text,
	"failing_since" timestamp with time zone,
	"retries" integer DEFAULT 0 NOT NULL,
	"next_retry_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "billing_events" (
	"id" text PRIMARY KEY NOT NULL,
	"at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "billing_hibernations" (
	"squid_id" bigint PRIMARY KEY NOT NULL,
	"org_id" bigint NOT NULL,
	"squid_name" text NOT NULL,
	"reason" text NOT NULL,
	"month" text NOT NULL,
	"is_waking" boolean DEFAULT false NOT NULL,
	"at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "charges" (
	"key" text PRIMARY KEY NOT NULL,
	"invoice" integer NOT NULL,
	"org_id" bigint NOT NULL,
	"payment_method_id" text NOT NULL,
	"amount_cents" bigint NOT NULL,
	"status" text NOT NULL,
	"provider_id" text,
	"failure" text,
	"at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "invoices" (
	"number" integer PRIMARY KEY NOT NULL,
	"org_id" bigint NOT NULL,
	"month" text NOT NULL,
	"closed_at" timestamp with time zone NOT NULL,
	"receipt" jsonb NOT NULL,
	"customer" jsonb NOT NULL,
	"total_usd" numeric(24, 8) NOT NULL,
	"paid_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "meter_state" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"last_look_ms" bigint NOT NULL,
	"recorded_until_ms" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "payment_methods" (
	"id" text PRIMARY KEY NOT NULL,
	"org_id" bigint NOT NULL,
	"shown" jsonb NOT NULL,
	"added_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "billing_test_setups" (
	"client_secret" text PRIMARY KEY NOT NULL,
	"org_id" bigint NOT NULL,
	"customer_id" text NOT NULL,
	"status" text NOT NULL,
	"payment_method_id" text,
	"card" jsonb,
	"created_on" date NOT NULL
);
--> statement-breakpoint
CREATE TABLE "usage_records" (
	"org_id" bigint NOT NULL,
	"squid_id" bigint,
	"squid_name" text,
	"source" text NOT NULL,
	"resource" text NOT NULL,
	"type" text NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	"part" integer NOT NULL,
	"quantity" numeric(40, 0) NOT NULL,
	"month" text NOT NULL,
	"recorded_at" timestamp with time zone NOT NULL,
	CONSTRAINT "usage_records_source_resource_hour_part_pk" PRIMARY KEY("source","resource","hour","part")
);
--> statement-breakpoint
CREATE TABLE "usage_spans" (
	"org_id" bigint NOT NULL,
	"squid_id" bigint NOT NULL,
	"squid_name" text NOT NULL,
	"resource" text NOT NULL,
	"type" text NOT NULL,
	"size" bigint NOT NULL,
	"from_ms" bigint NOT NULL,
	"to_ms" bigint NOT NULL,
	CONSTRAINT "usage_spans_squid_id_resource_type_size_from_ms_pk" PRIMARY KEY("squid_id","resource","type","size","from_ms")
);
--> statement-breakpoint
ALTER TABLE "orgs" ADD COLUMN "deploys_stopped_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "orgs" ADD COLUMN "rpc_requests_cap" bigint;--> statement-breakpoint
ALTER TABLE "billing_accounts" ADD CONSTRAINT "billing_accounts_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "charges" ADD CONSTRAINT "charges_invoice_invoices_number_fk" FOREIGN KEY ("invoice") REFERENCES "public"."invoices"("number") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_methods" ADD CONSTRAINT "payment_methods_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "charges_invoice" ON "charges" USING btree ("invoice");--> statement-breakpoint
CREATE UNIQUE INDEX "invoices_org_month" ON "invoices" USING btree ("org_id","month");--> statement-breakpoint
CREATE INDEX "payment_methods_org" ON "payment_methods" USING btree ("org_id");--> statement-breakpoint
CREATE INDEX "usage_records_org_month" ON "usage_records" USING btree ("org_id","month");--> statement-breakpoint
CREATE INDEX "usage_spans_org" ON "usage_spans" USING btree ("org_id");--> statement-breakpoint
CREATE INDEX "usage_spans_to" ON "usage_spans" USING btree ("to_ms");