-- Tokens from before there were scopes keep their rights; new ones must name a scope.
ALTER TABLE "api_tokens" ADD COLUMN "scope" text NOT NULL DEFAULT 'admin';--> statement-breakpoint
ALTER TABLE "api_tokens" ALTER COLUMN "scope" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "api_tokens" ADD COLUMN "org_id" bigint;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "email_proven_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "roles" ADD COLUMN "secret_hash" text;--> statement-breakpoint
CREATE INDEX "api_tokens_org" ON "api_tokens" USING btree ("org_id");--> statement-breakpoint
ALTER TABLE "api_tokens" ADD CONSTRAINT "api_tokens_scope_check" CHECK ("api_tokens"."scope" in ('read', 'deploy', 'admin')) NOT VALID;
