CREATE TABLE "api_tokens" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "api_tokens_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint NOT NULL,
	"name" text NOT NULL,
	"prefix" text NOT NULL,
	"hash" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone,
	"last_used_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "audit_log" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_log_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp with time zone NOT NULL,
	"action" text NOT NULL,
	"user_id" bigint,
	"session_id" uuid,
	"api_token_id" bigint,
	"org_id" bigint,
	"ip" text,
	"request_id" text,
	"subject" text,
	"params" jsonb,
	"before" jsonb,
	"after" jsonb
);
--> statement-breakpoint
CREATE TABLE "email_links" (
	"hash" text PRIMARY KEY NOT NULL,
	"purpose" text NOT NULL,
	"user_id" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "known_addresses" (
	"user_id" bigint NOT NULL,
	"ip" text NOT NULL,
	"seen_at" timestamp with time zone NOT NULL,
	CONSTRAINT "known_addresses_user_id_ip_pk" PRIMARY KEY("user_id","ip")
);
--> statement-breakpoint
CREATE TABLE "oauth_identities" (
	"provider" text NOT NULL,
	"subject" text NOT NULL,
	"user_id" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "oauth_identities_provider_subject_pk" PRIMARY KEY("provider","subject")
);
--> statement-breakpoint
CREATE TABLE "rate_counters" (
	"key" text PRIMARY KEY NOT NULL,
	"count" integer NOT NULL,
	"ends_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"last_seen_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"user_agent" text,
	"ip" text
);
--> statement-breakpoint
CREATE TABLE "signing_keys" (
	"purpose" text PRIMARY KEY NOT NULL,
	"sealed_key" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "users_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"email" text NOT NULL,
	"full_name" text NOT NULL,
	"password_hash" text,
	"email_verified" boolean DEFAULT false NOT NULL,
	"avatar_url" text,
	"policy_accepted" boolean DEFAULT false NOT NULL,
	"subscribes_newsletter" boolean DEFAULT false NOT NULL,
	"onboarding_form" jsonb,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deployment_logs" (
	"deployment_id" bigint NOT NULL,
	"seq" integer NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"severity" text NOT NULL,
	"message" text NOT NULL,
	CONSTRAINT "deployment_logs_deployment_id_seq_pk" PRIMARY KEY("deployment_id","seq")
);
--> statement-breakpoint
CREATE TABLE "deployment_steps" (
	"deployment_id" bigint NOT NULL,
	"seq" integer NOT NULL,
	"status" text NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone,
	CONSTRAINT "deployment_steps_deployment_id_seq_pk" PRIMARY KEY("deployment_id","seq")
);
--> statement-breakpoint
CREATE TABLE "deployments" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "deployments_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"org_id" bigint NOT NULL,
	"squid_id" bigint NOT NULL,
	"squid_name" text NOT NULL,
	"squid_slot" text NOT NULL,
	"type" text NOT NULL,
	"status" text NOT NULL,
	"failed" text DEFAULT 'NO' NOT NULL,
	"failure_reason" text,
	"tag" text,
	"is_hard_reset" boolean DEFAULT false NOT NULL,
	"upload_id" uuid,
	"manifest_path" text,
	"source_deployment_id" bigint,
	"user_id" bigint,
	"notes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"image" text,
	"deadline_at" timestamp with time zone,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "uploads" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" bigint NOT NULL,
	"user_id" bigint,
	"sha256" text,
	"bytes" bigint,
	"created_at" timestamp with time zone NOT NULL,
	"received_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "orgs" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "orgs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"code" text NOT NULL,
	"name" text,
	"email" text,
	"pending_email" text,
	"pending_email_link_hash" text,
	"pending_email_expires_at" timestamp with time zone,
	"status" text DEFAULT 'DRAFT' NOT NULL,
	"is_playground" boolean DEFAULT false NOT NULL,
	"squids_limit" integer NOT NULL,
	"billing_details" jsonb,
	"created_at" timestamp with time zone NOT NULL,
	"deleted_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "quota_usage" (
	"org_id" bigint NOT NULL,
	"quota" text NOT NULL,
	"month" date NOT NULL,
	"used" bigint NOT NULL,
	CONSTRAINT "quota_usage_org_id_quota_month_pk" PRIMARY KEY("org_id","quota","month")
);
--> statement-breakpoint
CREATE TABLE "roles" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "roles_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"org_id" bigint NOT NULL,
	"user_id" bigint,
	"email" text,
	"type" text NOT NULL,
	"invited_by" bigint,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "roles_member_or_invitation" CHECK ((user_id is null) <> (email is null))
);
--> statement-breakpoint
CREATE TABLE "api_states" (
	"squid_id" bigint NOT NULL,
	"generation" integer NOT NULL,
	"container" text NOT NULL,
	"is_available" boolean NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"reason" text,
	CONSTRAINT "api_states_squid_id_generation_container_pk" PRIMARY KEY("squid_id","generation","container")
);
--> statement-breakpoint
CREATE TABLE "container_states" (
	"squid_id" bigint NOT NULL,
	"generation" integer NOT NULL,
	"container" text NOT NULL,
	"state" text NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"restarts" integer NOT NULL,
	"oom_kills" integer NOT NULL,
	"exit_code" integer,
	"is_out_of_memory" boolean NOT NULL,
	"retry_at" timestamp with time zone,
	"reason" text,
	CONSTRAINT "container_states_squid_id_generation_container_pk" PRIMARY KEY("squid_id","generation","container")
);
--> statement-breakpoint
CREATE TABLE "processor_states" (
	"squid_id" bigint NOT NULL,
	"generation" integer NOT NULL,
	"processor" text NOT NULL,
	"current_block" bigint NOT NULL,
	"total_blocks" bigint NOT NULL,
	"blocks_per_second" double precision,
	"eta_seconds" double precision,
	"progressed_at" timestamp with time zone,
	"head_moved_at" timestamp with time zone,
	"scraped_at" timestamp with time zone NOT NULL,
	CONSTRAINT "processor_states_squid_id_generation_processor_pk" PRIMARY KEY("squid_id","generation","processor")
);
--> statement-breakpoint
CREATE TABLE "squid_databases" (
	"squid_id" bigint PRIMARY KEY NOT NULL,
	"database" text NOT NULL,
	"role" text NOT NULL,
	"sealed_password" text NOT NULL,
	"read_role" text NOT NULL,
	"sealed_read_password" text NOT NULL,
	"version" text NOT NULL,
	"profile" text NOT NULL,
	"max_external_connections" integer DEFAULT 0 NOT NULL,
	"total_bytes" bigint NOT NULL,
	"used_bytes" bigint,
	"measured_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "squid_images" (
	"squid_id" bigint NOT NULL,
	"deployment_id" bigint NOT NULL,
	"image" text NOT NULL,
	"manifest_raw" text NOT NULL,
	"manifest_current" jsonb NOT NULL,
	"package_json" jsonb NOT NULL,
	"bytes" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "squid_images_squid_id_deployment_id_pk" PRIMARY KEY("squid_id","deployment_id")
);
--> statement-breakpoint
CREATE TABLE "squid_tags" (
	"org_id" bigint NOT NULL,
	"squid_name" text NOT NULL,
	"tag" text NOT NULL,
	"squid_id" bigint NOT NULL,
	"set_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "squid_tags_org_id_squid_name_tag_pk" PRIMARY KEY("org_id","squid_name","tag")
);
--> statement-breakpoint
CREATE TABLE "squids" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "squids_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"org_id" bigint NOT NULL,
	"name" text NOT NULL,
	"slot" text NOT NULL,
	"description" text,
	"manifest_raw" text DEFAULT '' NOT NULL,
	"manifest_current" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"package_json" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"image" text,
	"generation" integer DEFAULT 0 NOT NULL,
	"wanted" text DEFAULT 'running' NOT NULL,
	"sealed_workload" text,
	"secrets_read_at" timestamp with time zone,
	"api_replicas" integer DEFAULT 0 NOT NULL,
	"api_profile" text,
	"processor_profile" text,
	"processors" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"is_dedicated" boolean DEFAULT false NOT NULL,
	"last_deploy" jsonb,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"deployed_at" timestamp with time zone,
	"deployed_by" bigint,
	"hibernated_at" timestamp with time zone
);
--> statement-breakpoint
ALTER TABLE "api_tokens" ADD CONSTRAINT "api_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "email_links" ADD CONSTRAINT "email_links_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "known_addresses" ADD CONSTRAINT "known_addresses_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "oauth_identities" ADD CONSTRAINT "oauth_identities_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployment_logs" ADD CONSTRAINT "deployment_logs_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployment_steps" ADD CONSTRAINT "deployment_steps_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "quota_usage" ADD CONSTRAINT "quota_usage_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "roles" ADD CONSTRAINT "roles_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "roles" ADD CONSTRAINT "roles_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "roles" ADD CONSTRAINT "roles_invited_by_users_id_fk" FOREIGN KEY ("invited_by") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_states" ADD CONSTRAINT "api_states_squid_id_squids_id_fk" FOREIGN KEY ("squid_id") REFERENCES "public"."squids"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "container_states" ADD CONSTRAINT "container_states_squid_id_squids_id_fk" FOREIGN KEY ("squid_id") REFERENCES "public"."squids"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "processor_states" ADD CONSTRAINT "processor_states_squid_id_squids_id_fk" FOREIGN KEY ("squid_id") REFERENCES "public"."squids"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "squid_databases" ADD CONSTRAINT "squid_databases_squid_id_squids_id_fk" FOREIGN KEY ("squid_id") REFERENCES "public"."squids"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "squid_images" ADD CONSTRAINT "squid_images_squid_id_squids_id_fk" FOREIGN KEY ("squid_id") REFERENCES "public"."squids"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "squid_tags" ADD CONSTRAINT "squid_tags_squid_id_squids_id_fk" FOREIGN KEY ("squid_id") REFERENCES "public"."squids"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "squids" ADD CONSTRAINT "squids_org_id_orgs_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."orgs"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "api_tokens_hash" ON "api_tokens" USING btree ("hash");--> statement-breakpoint
CREATE UNIQUE INDEX "api_tokens_user_name" ON "api_tokens" USING btree ("user_id","name");--> statement-breakpoint
CREATE INDEX "audit_log_org" ON "audit_log" USING btree ("org_id","id");--> statement-breakpoint
CREATE INDEX "audit_log_user" ON "audit_log" USING btree ("user_id","id");--> statement-breakpoint
CREATE INDEX "email_links_user" ON "email_links" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "oauth_identities_user" ON "oauth_identities" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "rate_counters_ends" ON "rate_counters" USING btree ("ends_at");--> statement-breakpoint
CREATE INDEX "sessions_user" ON "sessions" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "users_verified_email" ON "users" USING btree ("email") WHERE email_verified;--> statement-breakpoint
CREATE INDEX "users_email" ON "users" USING btree ("email","id");--> statement-breakpoint
CREATE UNIQUE INDEX "deployments_one_at_a_time" ON "deployments" USING btree ("squid_id") WHERE finished_at is null;--> statement-breakpoint
CREATE INDEX "deployments_org" ON "deployments" USING btree ("org_id","id");--> statement-breakpoint
CREATE INDEX "deployments_squid" ON "deployments" USING btree ("squid_id","id");--> statement-breakpoint
CREATE INDEX "uploads_sha256" ON "uploads" USING btree ("sha256");--> statement-breakpoint
CREATE UNIQUE INDEX "orgs_code" ON "orgs" USING btree ("code");--> statement-breakpoint
CREATE INDEX "orgs_pending_email" ON "orgs" USING btree ("pending_email_link_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "roles_org_email" ON "roles" USING btree ("org_id","email");--> statement-breakpoint
CREATE UNIQUE INDEX "roles_org_user" ON "roles" USING btree ("org_id","user_id");--> statement-breakpoint
CREATE INDEX "roles_user" ON "roles" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "roles_email" ON "roles" USING btree ("email");--> statement-breakpoint
CREATE INDEX "squid_images_image" ON "squid_images" USING btree ("image");--> statement-breakpoint
CREATE INDEX "squid_tags_squid" ON "squid_tags" USING btree ("squid_id");--> statement-breakpoint
CREATE UNIQUE INDEX "squids_org_name_slot" ON "squids" USING btree ("org_id","name","slot");