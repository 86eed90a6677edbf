-- The audit log is evidence: not even our own code may change or delete a row of it.
create function refuse_audit_log_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit_log is append-only';
end
$$;
--> statement-breakpoint
create trigger audit_log_append_only before update or delete on audit_log
  for each row execute function refuse_audit_log_change();
--> statement-breakpoint
create trigger audit_log_not_truncated before truncate on audit_log
  for each statement execute function refuse_audit_log_change();
