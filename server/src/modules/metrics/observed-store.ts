import type { Db } from '../../db/database.ts'
import { samplerState } from './tables.ts'

/** Returns the time of the newest sample; null before the first sample. */
export async function newestSampleAt(db: Db): Promise<Date | null> {
  const [row] = await db.select().from(samplerState)
  return row?.sampledAt ?? null
}
