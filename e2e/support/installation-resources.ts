import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { connectTo, type Cluster } from './postgres.ts'
import { processesIn } from './shoal.ts'

/** The resources that an installation uses. Each must belong to a version. */
export type Resources = {
  /** The command line of each program of a squid, sorted. */
  programs: string[]
  /** Command lines of builds. */
  builds: string[]
  /** The names of the databases of versions. */
  databases: string[]
  /** The names of the folders of workloads, which begin with the id of the version. */
  workloads: string[]
  /** Folders of images on disk. */
  images: string[]
}

/** The images and the ids of the versions that the database records. */
export type Records = { images: string[]; squidIds: number[] }

/** Reads the resources from the processes of this host, the data directory and the Postgres of squids. */
export async function readResources(dataDir: string): Promise<Resources> {
  const images = join(dataDir, 'images')
  const programs = processesIn(images).map(withoutPid)
  return {
    programs: programs.toSorted(),
    builds: processesIn(join(dataDir, 'builds')).map(withoutPid),
    databases: await query<{ name: string }>(
      dataDir,
      'postgres',
      "select datname as name from pg_database where datname not in ('postgres', 'template0', 'template1', 'shoal') order by 1",
      [],
      'postgres-squids',
    ).then((rows) => rows.map(({ name }) => name)),
    workloads: namesIn(join(dataDir, 'containers')),
    images: namesIn(images),
  }
}

/** Reads the images and versions from the database of the control plane. */
export async function readRecords(dataDir: string): Promise<Records> {
  const squids = await query<{ id: string }>(dataDir, 'shoal', 'select id from squids')
  const images = await query<{ image: string }>(dataDir, 'shoal', 'select image from images')
  return {
    squidIds: squids.map(({ id }) => Number(id)),
    images: images.map(({ image }) => image),
  }
}

/** Describes the resources that belong to no version, and those that versions lack. Each version has `programsPerVersion` programs. */
export function orphans(resources: Resources, records: Records, programsPerVersion: number): string[] {
  const isOfVersion = (workload: string) => records.squidIds.some((id) => workload.startsWith(`${id}.`))
  const versions = records.squidIds.length
  return [
    ...resources.workloads.filter((name) => !isOfVersion(name)).map((name) => `workload ${name}`),
    ...(resources.workloads.length > versions
      ? [`${resources.workloads.length} workloads of ${versions} versions`]
      : []),
    ...(resources.databases.length === versions
      ? []
      : [`${resources.databases.length} databases of ${versions} versions`]),
    ...(resources.programs.length === programsPerVersion * versions
      ? []
      : [`${resources.programs.length} programs of ${versions} versions that have ${programsPerVersion} each`]),
    ...resources.builds.map((command) => `build ${command}`),
    ...resources.images.filter((name) => !records.images.includes(name)).map((name) => `image ${name}`),
  ]
}

/** Runs a statement in a database of the embedded Postgres, and returns its rows. `cluster`: see `connectTo`. */
export async function query<T extends object>(
  dataDir: string,
  database: string,
  text: string,
  values: unknown[] = [],
  cluster?: Cluster,
): Promise<T[]> {
  const client = await connectTo(dataDir, database, cluster)
  try {
    return (await client.query<T>(text, values)).rows
  } finally {
    await client.end()
  }
}

const withoutPid = (line: string) => line.slice(line.indexOf(' ') + 1)

const namesIn = (dir: string) => (existsSync(dir) ? readdirSync(dir).filter((name) => !name.startsWith('.')) : [])
