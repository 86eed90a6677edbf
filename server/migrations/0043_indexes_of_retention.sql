CREATE INDEX "billing_events_at" ON "billing_events" USING btree ("at");--> statement-breakpoint
CREATE INDEX "charges_at" ON "charges" USING btree ("at");--> statement-breakpoint
CREATE INDEX "container_months_at" ON "container_months" USING btree ("at");--> statement-breakpoint
CREATE INDEX "ingress_months_at" ON "ingress_months" USING btree ("at");--> statement-breakpoint
CREATE INDEX "quota_usage_month" ON "quota_usage" USING btree ("month");