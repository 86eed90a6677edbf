ALTER TABLE "users" ADD COLUMN "generated_password_hash" text;--> statement-breakpoint
UPDATE "users" SET "generated_password_hash" = "password_hash" WHERE "generated_password_until" IS NOT NULL;
