CREATE TABLE "log_databases" (
	"id" text PRIMARY KEY NOT NULL,
	"moved_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "log_notices" (
	"id" bigint PRIMARY KEY NOT NULL
);
--> statement-breakpoint
-- A worker that still has the old setting must not number lines here while another one numbers them in the database of logs. The
-- lines stay in the runtime's log. A trigger also stops a worker of the previous release.
CREATE FUNCTION refuse_moved_logs() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  if exists (select from log_databases) then
    raise exception 'The logs are in the database that SHOAL_LOGS_DATABASE_URL names.';
  end if;
  return null;
end
$$;
--> statement-breakpoint
CREATE TRIGGER log_streams_moved BEFORE INSERT OR UPDATE ON log_streams
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_moved_logs();
