CREATE TABLE "replicas" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"report" jsonb NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"seen_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "worker" text;--> statement-breakpoint
CREATE INDEX "replicas_seen" ON "replicas" USING btree ("seen_at");
