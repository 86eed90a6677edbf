import { traversableDir } from '@shoal/runtime'
import type { Config } from '../config/config.ts'
import { keysFileName } from '../sealing/key-ring.ts'

/** The directories of an installation. They are equal, unless root runs Shoal in a folder that other users cannot enter. */
export type InstallationPaths = {
  /** Uploads and keys. */
  dataDir: string
  /** Postgres, images and their programs. */
  stateDir: string
}

export const installationPaths = ({ dataDir }: Pick<Config, 'dataDir'>): InstallationPaths => ({
  dataDir,
  stateDir: traversableDir(dataDir),
})

/** The entries of a backup that belong in the data directory; all others belong in the state directory. */
export const dataDirEntries = ['uploads', keysFileName]

/** Checks that the installation uses the embedded Postgres. @throws Error that explains the alternatives, if DATABASE_URL is set */
export function rejectExternalDatabase(config: Config): void {
  if (config.DATABASE_URL === undefined) return
  throw new Error(
    `The database is at DATABASE_URL, not in ${config.dataDir}. Back it up and restore it with the tools of Postgres: pg_dumpall --globals-only for the roles, pg_dump and pg_restore for each database. Also back up uploads, images, toolchain and uids.json of ${config.dataDir} (or of the directory that its file reachable-at names), and secrets.key separately.`,
  )
}
