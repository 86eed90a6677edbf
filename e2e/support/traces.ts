import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { connectTo } from './postgres.ts'
import { processesIn } from './shoal.ts'

/** Resources of a Shoal on its host. Each must belong to a version. */
export type Traces = {
  /** `<image> <command line>` of each program of a squid, sorted. */
  programs: string[]
  /** Command lines of builds. */
  builds: string[]
  databases: string[]
  workloads: string[]
  /** Folders of images on disk. */
  images: string[]
}

/** Resources recorded in the database. */
export type Known = { runningImages: string[]; images: string[]; squidIds: number[] }

export async function tracesOf(dataDir: string): Promise<Traces> {
  const images = join(dataDir, 'images')
  const programs = processesIn(images).map((line) => withoutPid(line))
  return {
    programs: programs.toSorted(),
    builds: processesIn(join(dataDir, 'builds')).map(withoutPid),
    databases: await query<{ name: string }>(
      dataDir,
      'postgres',
      "select datname as name from pg_database where datname not in ('postgres', 'template0', 'template1', 'shoal') order by 1",
    ).then((rows) => rows.map(({ name }) => name)),
    workloads: namesIn(join(dataDir, 'containers')),
    images: namesIn(images),
  }
}

export async function knownTo(dataDir: string): Promise<Known> {
  const squids = await query<{ id: string; image: string | null }>(dataDir, 'shoal', 'select id, image from squids')
  const images = await query<{ image: string }>(dataDir, 'shoal', 'select image from images')
  return {
    squidIds: squids.map(({ id }) => Number(id)),
    runningImages: squids.flatMap(({ image }) => image ?? []),
    images: images.map(({ image }) => image),
  }
}

/** Describes the resources that belong to no version. `perVersion`: number of programs of a version. */
export function orphans(traces: Traces, known: Known, perVersion: number): string[] {
  const isOfVersion = (workload: string) => known.squidIds.some((id) => workload.startsWith(`${id}.`))
  const versions = known.squidIds.length
  return [
    ...traces.workloads.filter((name) => !isOfVersion(name)).map((name) => `workload ${name}`),
    ...(traces.workloads.length > versions ? [`${traces.workloads.length} workloads of ${versions} versions`] : []),
    ...(traces.databases.length === versions ? [] : [`${traces.databases.length} databases of ${versions} versions`]),
    ...(traces.programs.length === perVersion * versions
      ? []
      : [`${traces.programs.length} programs of ${versions} versions that have ${perVersion} each`]),
    ...traces.builds.map((command) => `build ${command}`),
    ...traces.images.filter((name) => !known.images.includes(name)).map((name) => `image ${name}`),
  ]
}

export async function query<T extends object>(dataDir: string, database: string, text: string, values: unknown[] = []) {
  const client = await connectTo(dataDir, database)
  try {
    return (await client.query<T>(text, values)).rows
  } finally {
    await client.end()
  }
}

const withoutPid = (line: string) => line.slice(line.indexOf(' ') + 1)

const namesIn = (dir: string) => (existsSync(dir) ? readdirSync(dir).filter((name) => !name.startsWith('.')) : [])
