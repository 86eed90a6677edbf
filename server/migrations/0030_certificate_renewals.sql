ALTER TABLE "certificates" ADD COLUMN "renewal_check_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "certificates_renewal_check" ON "certificates" USING btree ("renewal_check_at");