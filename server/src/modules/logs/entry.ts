import type { LogEntry } from '@shoal/contract'
import { levelName } from './levels.ts'
import type { StoredLine } from './lines-store.ts'
import { payloadOf } from './parse-line.ts'

/** Returns the API representation of a line. Its `id` is unique among the lines of a version and increases in order of arrival. */
export function entryOf(line: StoredLine): LogEntry {
  const level = levelName(line.level)
  return {
    id: String(line.seq),
    timestamp: new Date(line.atMs).toISOString(),
    level,
    container: line.container,
    payload: payloadOf(line, level),
  }
}
