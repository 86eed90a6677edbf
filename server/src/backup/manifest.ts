import { embeddedPostgresMajor } from '@shoal/runtime'
import { z } from 'zod'
import { knownMigrations } from '../db/migrate.ts'
import { shoalVersion } from '../installation/version.ts'

/** Describes a backup; readable with `tar -xOf <file> manifest.json`. */
export const BackupManifest = z.object({
  kind: z.literal('shoal backup'),
  /** The version of the file layout: in 1, the databases of squids are in the cluster of the control plane. */
  format: z.union([z.literal(1), z.literal(2)]),
  shoalVersion: z.string(),
  /** The newest migration of the database. */
  schema: z.string(),
  postgresVersion: z.string(),
  postgresMajor: z.number().int(),
  /** A physical copy can be restored only on the same platform. */
  platform: z.string(),
  /** The restored database is as of `endedAt`. */
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime(),
  /** The absolute path of the state directory, since images refer to programs in it. */
  stateDir: z.string(),
  /** The ids, not the keys, of the keys that seal values in the database, newest first. */
  keyIds: z.array(z.string()).min(1),
  hasKeys: z.boolean(),
  /** How many of each the backup contains. */
  holds: z.object({ databases: z.number(), images: z.number(), tools: z.number(), uploads: z.number() }),
  content: z.object({ bytes: z.number().int().positive(), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
})
export type BackupManifest = z.infer<typeof BackupManifest>

/** The operating system and processor architecture of this host, such as `linux-x64`. */
export const platform = `${process.platform}-${process.arch}`

/** Checks that this installation can restore the backup. @throws Error with the reason and instructions if it cannot */
export async function checkRestorable(manifest: BackupManifest): Promise<void> {
  const postgresMajor = embeddedPostgresMajor()
  if (manifest.postgresMajor !== postgresMajor)
    throw new Error(
      `The backup is of Postgres ${manifest.postgresVersion}, but this Shoal includes Postgres ${postgresMajor}, which cannot read it. Restore it with Shoal ${manifest.shoalVersion}, then update.`,
    )
  if (manifest.platform !== platform)
    throw new Error(
      `The backup was made on ${manifest.platform}, but this is ${platform}: it can only be restored on the same platform.`,
    )
  const ownVersion = shoalVersion()
  const isNewerSchema = !(await knownMigrations()).includes(manifest.schema)
  if (isNewerSchema || isNewer(manifest.shoalVersion, ownVersion))
    throw new Error(
      `The backup was made by a newer Shoal (${manifest.shoalVersion}, schema ${manifest.schema}) than this one (${ownVersion}). Update Shoal first.`,
    )
}

function isNewer(version: string, other: string): boolean {
  return version.localeCompare(other, 'en', { numeric: true }) > 0
}
