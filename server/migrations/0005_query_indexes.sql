CREATE INDEX "alert_deliveries_created" ON "alert_deliveries" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "log_blocks_max_at" ON "log_blocks" USING btree ("max_at");--> statement-breakpoint
CREATE INDEX "squids_image" ON "squids" USING btree ("image");