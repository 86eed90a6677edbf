DROP INDEX "alert_deliveries_due";--> statement-breakpoint
ALTER TABLE "alert_deliveries" ADD COLUMN "job_id" uuid;--> statement-breakpoint
CREATE INDEX "alert_deliveries_pending" ON "alert_deliveries" USING btree ("channel_id","id") WHERE "alert_deliveries"."status" = 'PENDING';