CREATE TABLE "acme_accounts" (
	"directory_url" text PRIMARY KEY NOT NULL,
	"sealed_key" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "acme_challenges" (
	"token" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"type" text NOT NULL,
	"key_authorization" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "acme_challenges_type_check" CHECK ("acme_challenges"."type" in ('http-01', 'tls-alpn-01'))
);
--> statement-breakpoint
CREATE TABLE "certificates" (
	"name" text PRIMARY KEY NOT NULL,
	"is_own" boolean NOT NULL,
	"chain" text,
	"sealed_key" text,
	"not_before" timestamp with time zone,
	"not_after" timestamp with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"last_error" text,
	"next_order_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "acme_challenges_name" ON "acme_challenges" USING btree ("name");--> statement-breakpoint
CREATE INDEX "certificates_next_order" ON "certificates" USING btree ("next_order_at");