CREATE TABLE "installation_move" (
	"installation" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"id" uuid NOT NULL,
	"state" text NOT NULL,
	"other" text NOT NULL,
	"details" jsonb NOT NULL,
	"stopped_at" timestamp with time zone NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	"resumed_at" timestamp with time zone,
	CONSTRAINT "installation_move_one_row" CHECK ("installation_move"."installation" = 1),
	CONSTRAINT "installation_move_state_check" CHECK ("installation_move"."state" in ('departed', 'copied', 'arrived'))
);
