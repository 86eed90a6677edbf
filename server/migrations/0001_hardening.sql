ALTER TABLE "squid_tags" DROP CONSTRAINT "squid_tags_squid_id_squids_id_fk";
--> statement-breakpoint
DROP INDEX "squid_tags_squid";--> statement-breakpoint
ALTER TABLE "squids" ADD COLUMN "cors" jsonb GENERATED ALWAYS AS (manifest_current #> '{deploy,cors}') STORED;--> statement-breakpoint
CREATE INDEX "alert_deliveries_event" ON "alert_deliveries" USING btree ("event_id");--> statement-breakpoint
CREATE INDEX "audit_log_at" ON "audit_log" USING btree ("at");--> statement-breakpoint
CREATE INDEX "usage_records_hour" ON "usage_records" USING btree ("hour");--> statement-breakpoint
CREATE INDEX "deployments_user" ON "deployments" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "deployments_finished" ON "deployments" USING btree ("finished_at");--> statement-breakpoint
CREATE INDEX "uploads_user" ON "uploads" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "roles_invited_by" ON "roles" USING btree ("invited_by");--> statement-breakpoint
CREATE INDEX "secrets_updated_by" ON "secrets" USING btree ("updated_by");--> statement-breakpoint
CREATE UNIQUE INDEX "squids_id_org_name" ON "squids" USING btree ("id","org_id","name");--> statement-breakpoint
UPDATE squid_tags t SET org_id = s.org_id, squid_name = s.name FROM squids s
  WHERE s.id = t.squid_id AND (t.org_id, t.squid_name) IS DISTINCT FROM (s.org_id, s.name);
--> statement-breakpoint
ALTER TABLE "squid_tags" ADD CONSTRAINT "squid_tags_squid_fk" FOREIGN KEY ("squid_id","org_id","squid_name") REFERENCES "public"."squids"("id","org_id","name") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "squid_tags_squid" ON "squid_tags" USING btree ("squid_id","org_id","squid_name");--> statement-breakpoint
ALTER TABLE "deployments" DROP COLUMN "is_hard_reset";--> statement-breakpoint
ALTER TABLE "alert_channels" ADD CONSTRAINT "alert_channels_type_check" CHECK ("alert_channels"."type" in ('email', 'webhook', 'slack')) NOT VALID;--> statement-breakpoint
ALTER TABLE "alert_deliveries" ADD CONSTRAINT "alert_deliveries_what_check" CHECK ("alert_deliveries"."what" in ('OPENED', 'ENDED', 'TEST')) NOT VALID;--> statement-breakpoint
ALTER TABLE "alert_deliveries" ADD CONSTRAINT "alert_deliveries_status_check" CHECK ("alert_deliveries"."status" in ('PENDING', 'DELIVERED', 'FAILED')) NOT VALID;--> statement-breakpoint
ALTER TABLE "alert_events" ADD CONSTRAINT "alert_events_severity_check" CHECK ("alert_events"."severity" in ('WARNING', 'CRITICAL')) NOT VALID;--> statement-breakpoint
ALTER TABLE "email_links" ADD CONSTRAINT "email_links_purpose_check" CHECK ("email_links"."purpose" in ('confirm', 'restore')) NOT VALID;--> statement-breakpoint
ALTER TABLE "billing_accounts" ADD CONSTRAINT "billing_accounts_at_cap_check" CHECK ("billing_accounts"."at_cap" in ('stop_deploys', 'hibernate')) NOT VALID;--> statement-breakpoint
ALTER TABLE "billing_hibernations" ADD CONSTRAINT "billing_hibernations_reason_check" CHECK ("billing_hibernations"."reason" in ('debt', 'cap')) NOT VALID;--> statement-breakpoint
ALTER TABLE "charges" ADD CONSTRAINT "charges_status_check" CHECK ("charges"."status" in ('asking', 'succeeded', 'failed')) NOT VALID;--> statement-breakpoint
ALTER TABLE "meter_state" ADD CONSTRAINT "meter_state_one_row" CHECK ("meter_state"."id" = 1) NOT VALID;--> statement-breakpoint
ALTER TABLE "billing_test_setups" ADD CONSTRAINT "billing_test_setups_status_check" CHECK ("billing_test_setups"."status" in ('requires_payment_method', 'requires_action', 'succeeded')) NOT VALID;--> statement-breakpoint
ALTER TABLE "usage_records" ADD CONSTRAINT "usage_records_source_check" CHECK ("usage_records"."source" in ('containers', 'databases', 'rpc')) NOT VALID;--> statement-breakpoint
ALTER TABLE "deployment_logs" ADD CONSTRAINT "deployment_logs_severity_check" CHECK ("deployment_logs"."severity" in ('info', 'warn', 'error')) NOT VALID;--> statement-breakpoint
ALTER TABLE "deployment_steps" ADD CONSTRAINT "deployment_steps_status_check" CHECK ("deployment_steps"."status" in ('UNPACKING', 'IMAGE_BUILDING', 'RESETTING', 'ADDONS_SYNCING', 'SQUID_SYNCING', 'ADDING_INGRESS', 'REMOVING_INGRESS', 'SQUID_DELETING', 'ADDONS_DELETING', 'DEPLOYING', 'OK')) NOT VALID;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_type_check" CHECK ("deployments"."type" in ('DEPLOY', 'DEPLOY_HARD_RESET', 'RESTART', 'HIBERNATE', 'DELETE', 'SET_TAG', 'REMOVE_TAG', 'ROLLBACK')) NOT VALID;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_status_check" CHECK ("deployments"."status" in ('UNPACKING', 'IMAGE_BUILDING', 'RESETTING', 'ADDONS_SYNCING', 'SQUID_SYNCING', 'ADDING_INGRESS', 'REMOVING_INGRESS', 'SQUID_DELETING', 'ADDONS_DELETING', 'DEPLOYING', 'OK')) NOT VALID;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_failed_check" CHECK ("deployments"."failed" in ('NO', 'UNEXPECTED', 'PERMISSIONS', 'REQUIREMENTS', 'REQUIRED_SOURCE_FILE_MISSED', 'REQUIRED_SOURCE_FILE_INVALID', 'SOURCE_FILES_BUILD_FAILED')) NOT VALID;--> statement-breakpoint
ALTER TABLE "orgs" ADD CONSTRAINT "orgs_status_check" CHECK ("orgs"."status" in ('DRAFT', 'ACTIVE', 'PAYMENT_ISSUES', 'IN_DEBT', 'TERMINATED')) NOT VALID;--> statement-breakpoint
ALTER TABLE "quota_usage" ADD CONSTRAINT "quota_usage_quota_check" CHECK ("quota_usage"."quota" in ('rpc')) NOT VALID;--> statement-breakpoint
ALTER TABLE "roles" ADD CONSTRAINT "roles_type_check" CHECK ("roles"."type" in ('admin', 'developer', 'viewer')) NOT VALID;--> statement-breakpoint
ALTER TABLE "container_runs" ADD CONSTRAINT "container_runs_how_check" CHECK ("container_runs"."how" in ('done', 'error', 'oom', 'evicted', 'stopped')) NOT VALID;--> statement-breakpoint
ALTER TABLE "container_states" ADD CONSTRAINT "container_states_state_check" CHECK ("container_states"."state" in ('starting', 'running', 'finished', 'backoff', 'failed')) NOT VALID;--> statement-breakpoint
ALTER TABLE "container_states" ADD CONSTRAINT "container_states_run_end_check" CHECK ("container_states"."run_end" in ('done', 'error', 'oom', 'evicted', 'stopped')) NOT VALID;--> statement-breakpoint
ALTER TABLE "installation" ADD CONSTRAINT "installation_one_row" CHECK ("installation"."id" = 1) NOT VALID;--> statement-breakpoint
ALTER TABLE "squid_databases" ADD CONSTRAINT "squid_databases_profile_check" CHECK ("squid_databases"."profile" in ('collocated', 'small', 'medium', 'large', 'xlarge', '2xlarge')) NOT VALID;--> statement-breakpoint
ALTER TABLE "squids" ADD CONSTRAINT "squids_wanted_check" CHECK ("squids"."wanted" in ('running', 'hibernated', 'deleted')) NOT VALID;--> statement-breakpoint
ALTER TABLE "squids" ADD CONSTRAINT "squids_api_profile_check" CHECK ("squids"."api_profile" in ('collocated', 'small', 'medium', 'large', 'xlarge', '2xlarge')) NOT VALID;--> statement-breakpoint
ALTER TABLE "squids" ADD CONSTRAINT "squids_processor_profile_check" CHECK ("squids"."processor_profile" in ('collocated', 'small', 'medium', 'large', 'xlarge', '2xlarge')) NOT VALID;--> statement-breakpoint
-- Retention alone may delete rows of the audit log, in a transaction that says so.
CREATE OR REPLACE FUNCTION refuse_audit_log_change() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  if tg_op = 'DELETE' and current_setting('shoal.audit_retention', true) = 'on' then
    return old;
  end if;
  raise exception 'audit_log is append-only';
end
$$;
