import pg from 'pg'
import { played } from '../../e2e/support/played-squid.ts'
import { startEmbeddedPostgres } from '../../runtime/src/postgres/embedded-postgres.ts'
import { type Bench, atMost, median } from '../bench/support/result.ts'
import { makeOpenFolder } from '../open-folder.ts'
import { org, slowDown, withConsole } from './support/console.ts'

const versions = 1_000
const rounds = 5

/** Copies of the one version there is, as a database knows them: nothing of them runs. */
async function multiply(databaseUrl: string): Promise<void> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    const { rows } = await client.query<{ column: string }>(`
      select column_name as column from information_schema.columns
      where table_name = 'squids' and column_name not in ('id', 'name', 'slot', 'sealed_workload')`)
    const columns = rows.map(({ column }) => column).join(', ')
    await client.query(`
      insert into squids (name, slot, ${columns})
      select 'squid-' || (n / 4), 'v' || n, ${columns}
      from squids cross join generate_series(1, ${versions - 1}) as n`)
  } finally {
    await client.end()
  }
}

export const bench: Bench = {
  name: 'list',
  async *run() {
    const postgres = await startEmbeddedPostgres({ dir: makeOpenFolder('pg-') })
    const databaseUrl = postgres.url('postgres')
    try {
      yield* await withConsole(
        { SHOAL_RUNTIME: 'sim', DATABASE_URL: databaseUrl },
        async function* ({ page, who, shoal }) {
          await played(who, { name: 'transfers', slot: 'v1' })
          await multiply(databaseUrl)
          await slowDown(page)
          const usable: number[] = []
          for (let round = 0; round < rounds; round++) {
            await page.goto('about:blank')
            await page.goto(`${shoal.url}/squids?organization=${org}`, { waitUntil: 'commit' })
            await page.locator('[data-row]').first().waitFor()
            // Usable: the browser is free to answer a click.
            usable.push(
              await page.evaluate<number>('new Promise((done) => requestIdleCallback(() => done(performance.now())))'),
            )
          }
          yield atMost(1_500, `list, usable with ${versions} versions, 4 × slower`, median(usable), 'ms')

          await page.goto('about:blank')
          const polls: number[] = []
          for (let round = 0; round < 20; round++) {
            const headers = { authorization: `token ${who.token}`, 'accept-encoding': 'br, gzip' }
            const startedAt = performance.now()
            const answer = await fetch(`${shoal.url}/api/v1/orgs/${org}/squids`, { headers })
            polls.push(performance.now() - startedAt)
            await answer.arrayBuffer()
          }
          yield atMost(20, `list, polling ${versions} versions, time of the server`, median(polls.slice(5)), 'ms')
        },
      )
    } finally {
      await postgres.stop()
    }
  },
}
