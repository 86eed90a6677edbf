ALTER TABLE "squids" ADD COLUMN "hasura_replicas" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "squids" ADD COLUMN "hasura_profile" text;--> statement-breakpoint
ALTER TABLE "squids" ADD CONSTRAINT "squids_hasura_profile_check" CHECK ("squids"."hasura_profile" in ('collocated', 'small', 'medium', 'large', 'xlarge', '2xlarge')) NOT VALID;