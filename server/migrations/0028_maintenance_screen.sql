ALTER TABLE "maintenances" ADD COLUMN "has_screen" boolean DEFAULT false NOT NULL;
