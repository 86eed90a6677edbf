import pg from 'pg'
import { deploySimulated, type Deployer } from '../../../e2e/support/simulated-squid.ts'
import { until } from '../../../e2e/support/until.ts'
import { startEmbeddedPostgres } from '../../../runtime/src/postgres/embedded-postgres.ts'
import { makeFolderForAllUsers } from '../../temporary-folders.ts'
import { org, withConsole, type Console } from './console.ts'

/** The tables whose rows belong to a version. */
const tables = ['squid_tags', 'squid_databases', 'container_states', 'processor_states', 'api_states']

/** Copies the deployed version with its observations, so that the copies appear to run, until `count` versions exist. */
async function copyVersion(databaseUrl: string, count: number): Promise<void> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    const columnsOf = async (table: string, except: string[]) => {
      const { rows } = await client.query<{ column: string }>(
        `select column_name as column from information_schema.columns where table_name = $1 and column_name <> all($2) and is_generated = 'NEVER'`,
        [table, except],
      )
      return rows.map(({ column }) => column).join(', ')
    }
    const columns = await columnsOf('squids', ['id', 'name', 'slot', 'sealed_workload'])
    await client.query(`
      insert into squids (name, slot, ${columns})
      select 'squid-' || (n / 4), 'v' || n, ${columns}
      from squids cross join generate_series(1, ${count - 1}) as n`)
    for (const table of tables) {
      const otherColumns = await columnsOf(table, ['squid_id', 'squid_name'])
      const [name, ofName] = table === 'squid_tags' ? [', squid_name', ', s.name'] : ['', '']
      // Only one version of a squid can have a tag.
      await client.query(`
        insert into ${table} (squid_id${name}, ${otherColumns}) select s.id${ofName}, ${otherColumns.replaceAll(/\w+/g, 't.$&')}
        from ${table} t join squids first on first.id = t.squid_id join squids s on s.id <> first.id
        on conflict do nothing`)
    }
  } finally {
    await client.end()
  }
}

async function isObserved({ api }: Deployer): Promise<boolean> {
  const [squid] = await api.squids.listSummaries({ params: { code: org } })
  const { processors = [], addons } = squid ?? { addons: {} }
  return processors.every(({ status }) => status === 'SYNCED') && addons.postgres?.disk.usageStatus !== 'UNKNOWN'
}

export type ConsoleWithVersions = Console & { databaseUrl: string }

/** Starts a console with `count` versions and passes it to `work`. One version is deployed, with two processors; the others are its copies in the database. */
export async function* withVersions<T>(
  count: number,
  work: (console: ConsoleWithVersions) => AsyncIterable<T>,
): AsyncIterable<T> {
  const postgres = await startEmbeddedPostgres({ dir: makeFolderForAllUsers('pg-') })
  const databaseUrl = postgres.url('postgres')
  try {
    yield* await withConsole({ SHOAL_RUNTIME: 'sim', DATABASE_URL: databaseUrl }, async function* (console) {
      await deploySimulated(console.deployer, {
        name: 'transfers',
        slot: 'v1',
        tag: 'production',
        processors: { eth: {}, base: {} },
      })
      await until(() => isObserved(console.deployer), 'the worker has observed all programs of the version')
      await copyVersion(databaseUrl, count)
      yield* work({ ...console, databaseUrl })
    })
  } finally {
    await postgres.stop()
  }
}
