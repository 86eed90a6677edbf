import { sql } from 'drizzle-orm'
import type { App } from './app.ts'

/** What this process needs, each `ok` or what is wrong with it. */
export async function readiness(app: Pick<App, 'db'>): Promise<Record<string, string>> {
  const database = await app.db
    .execute(sql`select 1`)
    .then(() => 'ok')
    .catch(() => 'does not answer')
  return { database }
}
