CREATE INDEX "container_hours_at" ON "container_hours" USING brin (("at" at time zone 'UTC')) WITH (autosummarize=true);--> statement-breakpoint
CREATE INDEX "container_minutes_at" ON "container_minutes" USING brin (("at" at time zone 'UTC')) WITH (autosummarize=true);--> statement-breakpoint
CREATE INDEX "container_samples_at" ON "container_samples" USING brin (("at" at time zone 'UTC')) WITH (autosummarize=true);--> statement-breakpoint
CREATE INDEX "ingress_hours_at" ON "ingress_hours" USING brin (("at" at time zone 'UTC')) WITH (autosummarize=true);--> statement-breakpoint
CREATE INDEX "ingress_minutes_at" ON "ingress_minutes" USING brin (("at" at time zone 'UTC')) WITH (autosummarize=true);