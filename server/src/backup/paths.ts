import { traversableDir } from '@shoal/runtime'
import type { Config } from '../config/config.ts'
import { keysName } from '../sealing/key-ring.ts'

/** Where an installation keeps what a backup holds; the two are one unless root runs Shoal in a closed folder. */
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

/** What of a backup goes to the data directory; all else goes to the state directory. */
export const dataDirEntries = ['uploads', keysName]

/** @throws Error with what to do instead, where the database is not Shoal's own */
export function refuseExternalDatabase(config: Config): void {
  if (config.DATABASE_URL === undefined) return
  throw new Error(
    `The database is at DATABASE_URL and not in ${config.dataDir}. Back it up and restore it with the tools of Postgres: pg_dumpall --globals-only for the roles, pg_dump and pg_restore for each database. Of ${config.dataDir} (or where its file reachable-at leads) keep uploads, images, toolchain and uids.json, and apart from all that secrets.key.`,
  )
}
