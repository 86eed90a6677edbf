import type { App } from './app.ts'
import { answers } from './db/database.ts'

/** What this process needs, each `ok` or what is wrong with it. */
export async function readiness(app: Pick<App, 'database'>): Promise<Record<string, string>> {
  return { database: (await answers(app.database)) ? 'ok' : 'does not answer' }
}
